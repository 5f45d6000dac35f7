import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FrameWriter, JuteError, JuteReader } from '../src/jute.ts';

const payloadOf = (frames: FrameWriter): Buffer => {
  const bytes = Buffer.concat(frames.take());
  expect(bytes.readInt32BE(0)).toBe(bytes.length - 4);
  return bytes.subarray(4);
};

type Field =
  | { kind: 'int'; value: number }
  | { kind: 'long'; value: number }
  | { kind: 'id'; value: bigint }
  | { kind: 'bool'; value: boolean }
  | { kind: 'string'; value: string | null }
  | { kind: 'buffer'; value: Uint8Array | null };

const byteString = fc
  .uint8Array({ maxLength: 300 })
  .map((bytes) => Buffer.from(bytes).toString('latin1'));
const field: fc.Arbitrary<Field> = fc.oneof(
  fc.record({ kind: fc.constant('int' as const), value: fc.integer() }),
  fc.record({ kind: fc.constant('long' as const), value: fc.maxSafeInteger() }),
  fc.record({ kind: fc.constant('id' as const), value: fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n) }),
  fc.record({ kind: fc.constant('bool' as const), value: fc.boolean() }),
  fc.record({ kind: fc.constant('string' as const), value: fc.option(byteString) }),
  fc.record({
    kind: fc.constant('buffer' as const),
    value: fc.option(fc.uint8Array({ maxLength: 5000 })),
  }),
);

function write(frames: FrameWriter, { kind, value }: Field): void {
  if (kind === 'int') frames.int(value);
  else if (kind === 'long') frames.long(value);
  else if (kind === 'id') frames.id(value);
  else if (kind === 'bool') frames.bool(value);
  else if (kind === 'string') frames.string(value);
  else frames.buffer(value);
}

function read(reader: JuteReader, kind: Field['kind']): unknown {
  const value = reader[kind]();
  return value instanceof Uint8Array ? Uint8Array.from(value) : value;
}

describe('jute', () => {
  test('reads back every record that it wrote', () => {
    const records = fc.array(fc.array(field, { maxLength: 8 }), { maxLength: 8 });
    fc.assert(
      fc.property(records, (frames) => {
        const writer = new FrameWriter();
        for (const fields of frames) {
          writer.begin();
          for (const one of fields) write(writer, one);
          writer.end();
        }
        const bytes = Buffer.concat(writer.take());
        let at = 0;
        for (const fields of frames) {
          const length = bytes.readInt32BE(at);
          const reader = new JuteReader(bytes.subarray(at + 4, at + 4 + length));
          expect(fields.map(({ kind }) => read(reader, kind))).toEqual(
            fields.map(({ value }) => value),
          );
          expect(reader.remaining).toBe(0);
          at += 4 + length;
        }
        expect(at).toBe(bytes.length);
      }),
    );
  });

  test('tells null from empty', () => {
    const frames = new FrameWriter();
    frames.begin().buffer(null).buffer(new Uint8Array(0)).string(null).string('').end();
    const reader = new JuteReader(payloadOf(frames));
    expect(reader.buffer()).toBeNull();
    expect(reader.buffer()).toHaveLength(0);
    expect(reader.string()).toBeNull();
    expect(reader.string()).toBe('');
  });

  test.each([
    ['a string longer than the record', 'ff', 'string', '00000005 616263'],
    ['a length below -1', '', 'buffer', 'fffffffe'],
    ['an integer cut short', '', 'int', '0000'],
    ['a vector with more elements than bytes', '', 'strings', '7fffffff 00'],
  ] as const)('refuses %s', (_name, _tail, method, hex) => {
    const reader = new JuteReader(Buffer.from(hex.replaceAll(' ', ''), 'hex'));
    expect(() => reader[method]()).toThrow(JuteError);
  });

  test('keeps large values by reference and small ones as copies', () => {
    const large = new Uint8Array(100_000).fill(7);
    const frames = new FrameWriter();
    frames.begin().buffer(large).end();
    const chunks = frames.take();
    expect(chunks.some((chunk) => chunk === large)).toBe(true);
    expect(Buffer.concat(chunks).readInt32BE(0)).toBe(100_004);
  });
});
