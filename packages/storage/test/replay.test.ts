import { describe, expect, it } from 'vitest';
import { TEST_CONFIGURATION, TEST_IDENTITY, testEntries } from '../src/log-driver.ts';
import type { LogRecord } from '../src/wal/record-format.ts';
import { Replay } from '../src/wal/replay.ts';
import type { SegmentHeader } from '../src/wal/segment-header.ts';

const at = (index: number, term: number) => ({ index, term, configuration: TEST_CONFIGURATION });

/** A segment begun when the log ended at 20, of which the entries up to 10 were compacted. */
const HEADER: SegmentHeader = {
  identity: TEST_IDENTITY,
  segment: 5,
  sizeBytes: 8192,
  previous: { segment: 4, offset: 5000, crc: 1 },
  firstSequence: 30,
  firstIndexExpected: 21,
  hardState: { term: 1, vote: 0, commit: 10 },
  base: at(10, 1),
  damage: undefined,
};

/** Replays records, numbering them and their places. */
function replay(records: readonly Partial<LogRecord>[]): Replay {
  const result = new Replay(HEADER, 1 << 20);
  records.forEach((part, i) => {
    const record: LogRecord = {
      sequence: 30 + i,
      syncedSequence: 29 + i,
      hardState: undefined,
      snapshot: undefined,
      base: undefined,
      isRepaired: false,
      entries: [],
      ...part,
    };
    result.accept(record, { segment: 5, offset: 4096 + i * 512, length: 512, previousCrc: 0 });
  });
  return result;
}

describe('replay of a log whose older segments are gone', () => {
  it('is incomplete until a record declares the missing entries compacted', () => {
    expect(replay([{ entries: testEntries(21, 22, 2) }]).isComplete).toBe(false);
    expect(replay([{ base: at(19, 2) }]).isComplete).toBe(false);
    const { view, isComplete } = replay([{ entries: testEntries(21, 22, 2) }, { base: at(20, 2) }]);
    expect([isComplete, view.firstIndex, view.lastIndex, view.term(20)]).toEqual([true, 21, 22, 2]);
  });

  it('forgets what followed when the missing entries are overwritten', () => {
    const { view, isComplete } = replay([
      { entries: testEntries(21, 24, 2) },
      { entries: testEntries(18, 19, 3) },
      { entries: testEntries(20, 22, 3) },
      { base: at(17, 2) },
    ]);
    expect([isComplete, view.firstIndex, view.lastIndex]).toEqual([true, 18, 22]);
    for (const index of [18, 20, 22]) {
      expect(view.term(index)).toBe(3);
      const location = view.records.run(index, 0)[0]!;
      expect(location.offset).toBe(index < 20 ? 4608 : 5120);
      expect(view.cache.page(index, index + 1, 0)).toMatchObject([{ index, term: 3 }]);
    }
  });

  it('needs nothing missing once the log restarted behind a snapshot', () => {
    const { view, isComplete } = replay([{ snapshot: at(50, 4), entries: testEntries(51, 51, 4) }]);
    expect([isComplete, view.firstIndex, view.lastIndex, view.term(50)]).toEqual([true, 51, 51, 4]);
  });
});
