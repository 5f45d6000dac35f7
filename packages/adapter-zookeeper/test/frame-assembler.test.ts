import fc from 'fast-check';
import { expect, test } from 'vitest';
import { FrameAssembler } from '../src/frame-assembler.ts';

function frame(payload: Uint8Array): Buffer {
  const head = Buffer.alloc(4);
  head.writeInt32BE(payload.length);
  return Buffer.concat([head, payload]);
}

test('frames come out whole however the stream is cut', () => {
  const payloads = fc.array(fc.uint8Array({ maxLength: 60 }), { maxLength: 20 });
  fc.assert(
    fc.property(payloads, fc.array(fc.integer({ min: 1, max: 90 })), (wanted, cuts) => {
      const stream = Buffer.concat(wanted.map(frame));
      const assembler = new FrameAssembler(1000);
      const found: number[][] = [];
      let at = 0;
      for (let turn = 0; at < stream.length; turn++) {
        const end = at + (cuts[turn] ?? 7);
        assembler.push(Buffer.from(stream.subarray(at, end)));
        at = end;
        for (let next = assembler.next(); typeof next !== 'string'; next = assembler.next()) {
          found.push([...next]);
        }
      }
      expect(found).toEqual(wanted.map((payload) => [...payload]));
      expect(assembler.length).toBe(0);
    }),
  );
});

test('a length over the limit or below zero is told apart from an incomplete frame', () => {
  const assembler = new FrameAssembler(10);
  assembler.push(Buffer.from([0, 0, 0, 10, 1]));
  expect(assembler.next()).toBe('incomplete');
  assembler.clear();
  assembler.push(Buffer.from([0, 0, 0, 11]));
  expect(assembler.next()).toBe('oversized');
  assembler.clear();
  assembler.push(Buffer.from([0xff, 0xff, 0xff, 0xff]));
  expect(assembler.next()).toBe('oversized');
});
