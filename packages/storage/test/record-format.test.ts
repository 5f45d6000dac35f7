import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeAnchor, encodeAnchor } from '../src/wal/anchor.ts';
import {
  decodeRecord,
  isIntact,
  type LogRecord,
  peekChain,
  peekLength,
  RecordEncoder,
} from '../src/wal/record-format.ts';
import {
  isUnsynced,
  markCount,
  placeMarks,
  recordLength,
  recordStart,
  removeMarks,
} from '../src/wal/sector-marks.ts';
import { decodeHeader, encodeHeader } from '../src/wal/segment-header.ts';

const number = fc.maxSafeNat();
const members = fc.array(fc.nat(), { maxLength: 5 });
const configuration = fc.record({
  voters: members,
  votersOutgoing: members,
  learners: members,
  learnersNext: members,
  autoLeave: fc.boolean(),
});
const base = fc.record({ index: number, term: number, configuration });
const hardState = fc.record({ term: number, vote: fc.nat(), commit: number });
const data = fc.oneof(
  fc.uint8Array({ maxLength: 40 }),
  fc.nat(3000).map((length) => new Uint8Array(length)),
  fc.nat(3000).map((length) => new Uint8Array(length).fill(0xa7)),
);
const record: fc.Arbitrary<LogRecord> = fc
  .record({
    sequence: number,
    syncedSequence: number,
    hardState: fc.option(hardState, { nil: undefined }),
    snapshot: fc.option(base, { nil: undefined }),
    base: fc.option(base, { nil: undefined }),
    isRepaired: fc.boolean(),
    first: fc.nat(2 ** 40),
    terms: fc.array(fc.record({ step: fc.nat(300), type: fc.nat(2), data }), { maxLength: 12 }),
  })
  .map(({ first, terms, ...rest }) => {
    let term = 0;
    const entries = terms.map(({ step, type, data: bytes }, i) => {
      term += step;
      return { index: first + i, term, type: type as 0 | 1 | 2, data: bytes };
    });
    return { ...rest, entries };
  });

const plain = (value: LogRecord): unknown => ({
  ...value,
  entries: value.entries.map((entry) => ({ ...entry, data: Array.from(entry.data) })),
});

describe('record format', { timeout: 60_000 }, () => {
  const encoder = new RecordEncoder();

  it('decodes what it encoded, at any offset', () => {
    fc.assert(
      fc.property(record, fc.nat(5000), fc.nat(), fc.nat(), (value, near, segment, previousCrc) => {
        const offset = recordStart(near);
        const { bytes, crc } = encoder.encode(value, { segment, offset, previousCrc });
        const copy = Uint8Array.from(bytes);
        expect(peekLength(copy, 0)).toBe(copy.length);
        expect(peekChain(copy)).toEqual({ crc, previousCrc });
        expect(isIntact(copy, segment)).toBe(true);
        expect(isIntact(copy, segment + 1)).toBe(false);
        expect(isUnsynced(copy, offset)).toBe(false);
        expect(plain(decodeRecord(copy, offset))).toEqual(plain(value));
      }),
      { numRuns: 300 },
    );
  });

  it('notices any flipped bit, and never takes it for a torn write', () => {
    fc.assert(
      fc.property(
        record,
        fc.nat(5000),
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        fc.nat(7),
        (value, near, where, bit) => {
          const offset = recordStart(near);
          const { bytes } = encoder.encode(value, { segment: 3, offset, previousCrc: 99 });
          const copy = Uint8Array.from(bytes);
          copy[Math.floor(where * copy.length)]! ^= 1 << bit;
          const isWhole = peekLength(copy, 0) === copy.length && isIntact(copy, 3);
          expect(isWhole && peekChain(copy).previousCrc === 99).toBe(false);
          expect(isUnsynced(copy, offset)).toBe(false);
        },
      ),
      { numRuns: 300 },
    );
  });

  it('puts marks and takes them away without changing a byte', () => {
    fc.assert(
      fc.property(fc.nat(10_000), fc.nat(30_000), fc.nat(), (near, body, seed) => {
        const start = recordStart(near);
        const length = recordLength(start, body);
        expect(length % 8).toBe(0);
        const bytes = Uint8Array.from({ length }, (_, i) => (i * 31 + seed) & 255);
        const slots = 16 + markCount(start, length);
        bytes.fill(0, 16, slots);
        const before = bytes.slice(slots);
        placeMarks(bytes, start);
        removeMarks(bytes, start);
        expect(Buffer.compare(bytes.subarray(slots), before)).toBe(0);
      }),
      { numRuns: 200 },
    );
  });

  it('encodes headers and anchors to and fro', () => {
    fc.assert(
      fc.property(base, hardState, fc.nat(), fc.boolean(), (logBase, state, segment, isDamaged) => {
        const header = {
          identity: { cluster: 'fedcba9876543210', member: 7 },
          segment,
          sizeBytes: 8192,
          previous: { segment: 1, offset: 5000, crc: 77 },
          firstSequence: 12,
          firstIndexExpected: 9,
          hardState: state,
          base: logBase,
          damage: isDamaged ? { file: 'wal/1', offset: 12, reason: 'because' } : undefined,
        };
        const { bytes, crc } = encodeHeader(header);
        expect(decodeHeader(bytes)).toEqual({ header, crc });
        bytes[100]! ^= 1;
        expect(typeof decodeHeader(bytes)).toBe('string');
        const point = { segment, sequence: state.term, lastIndex: logBase.index, lastTerm: 3 };
        const slots = Buffer.concat([encodeAnchor(point, 8), encodeAnchor(point, 7)]);
        expect(decodeAnchor(slots)).toEqual({ point, counter: 8 });
        slots[30]! ^= 4;
        expect(decodeAnchor(slots)?.counter).toBe(7);
      }),
      { numRuns: 100 },
    );
  });
});
