import { describe, expect, it } from 'vitest';
import { checkLinearizability, type Operation, tell } from '../src/index.ts';
import { op } from './operations.ts';

const whys = (operations: Operation[]): string[] =>
  checkLinearizability(operations).violations.map(({ why }) => why);
const write = (call: number, end: number, value: string): Operation =>
  op(call, end, { op: 'write', key: 'k', value });
const read = (call: number, end: number, result: string | null): Operation =>
  op(call, end, { op: 'read', key: 'k', result });
const add = (call: number, end: number, result?: number): Operation =>
  result === undefined
    ? op(call, end, { op: 'add', key: 'n', value: 1, outcome: 'unknown' })
    : op(call, end, { op: 'add', key: 'n', value: 1, result });

describe('linearizability without witness', () => {
  it('lets concurrent writes be seen in either order, but in one', () => {
    const writes = [write(0, 10, 'a'), write(1, 9, 'b')];
    expect(whys([...writes, read(11, 12, 'a'), read(13, 14, 'a')])).toEqual([]);
    expect(whys([...writes, read(11, 12, 'b')])).toEqual([]);
    expect(whys([...writes, read(11, 12, 'a'), read(13, 14, 'b')])).toEqual([
      "no order explains an answer: k can only have held 'a'",
    ]);
  });

  it('notices a stale read', () => {
    expect(whys([write(0, 1, 'a'), write(2, 3, 'b'), read(4, 5, 'a')])).toHaveLength(1);
  });

  it('notices a read that goes back while a write is under way', () => {
    const history = [write(0, 1, 'a'), write(2, 20, 'b'), read(3, 5, 'b'), read(6, 7, 'a')];
    expect(whys(history)).toHaveLength(1);
  });

  it('lets a write without answer happen late, or never, but not be undone', () => {
    const lost = op(2, 3, { op: 'write', key: 'k', value: 'b', outcome: 'unknown' });
    expect(whys([write(0, 1, 'a'), lost, read(4, 5, 'a'), read(50, 51, 'a')])).toEqual([]);
    expect(whys([write(0, 1, 'a'), lost, read(4, 5, 'a'), read(50, 51, 'b')])).toEqual([]);
    expect(whys([write(0, 1, 'a'), lost, read(4, 5, 'b'), read(50, 51, 'a')])).toHaveLength(1);
  });

  it('believes a certain failure', () => {
    const refused = op(2, 3, { op: 'write', key: 'k', value: 'b', outcome: 'fail' });
    expect(whys([write(0, 1, 'a'), refused, read(4, 5, 'b')])).toHaveLength(1);
  });

  it('judges compare-and-set by what it expected, and lets unseen writes explain a refusal', () => {
    const cas = (call: number, expected: string, value: string, result: boolean): Operation =>
      op(call, call + 1, { op: 'cas', key: 'k', expected, value, result });
    expect(whys([write(0, 1, 'a'), cas(2, 'a', 'b', true), read(4, 5, 'b')])).toEqual([]);
    expect(whys([write(0, 1, 'a'), cas(2, 'a', 'b', false)])).toHaveLength(1);
    expect(whys([write(0, 1, 'a'), cas(2, 'x', 'b', true)])).toHaveLength(1);
    const lost = op(1, 2, { op: 'write', key: 'k', value: 'l', outcome: 'unknown' });
    expect(whys([write(0, 1, 'a'), lost, cas(3, 'a', 'b', false)])).toEqual([]);
  });

  it('is not lost among hundreds of writes whose outcome nobody knows', () => {
    const history: Operation[] = [write(0, 1, 'v0')];
    for (let i = 1; i < 400; i++) {
      const at = i * 10;
      const outcome = 'unknown';
      history.push(
        op(at, at + 1, { op: 'write', key: 'k', value: `lost${i}`, outcome }),
        op(at, at + 2, { op: 'cas', key: 'k', expected: `v${i - 1}`, value: `l${i}`, outcome }),
        op(at + 3, at + 4, { op: 'cas', key: 'k', expected: 'x', value: `f${i}`, result: false }),
        write(at + 5, at + 6, `v${i}`),
        read(at + 7, at + 8, `v${i}`),
      );
    }
    expect(checkLinearizability(history)).toMatchObject({ violations: [], undecided: [] });
    history.push(read(4001, 4002, 'v7'));
    expect(whys(history)).toHaveLength(1);
  });

  it('judges deletions by whether there was something', () => {
    const take = (call: number, result: boolean): Operation =>
      op(call, call + 1, { op: 'delete', key: 'k', result });
    expect(whys([write(0, 1, 'a'), take(2, true), take(4, false), read(6, 7, null)])).toEqual([]);
    expect(whys([write(0, 1, 'a'), take(2, true), take(4, true)])).toHaveLength(1);
  });

  it('counts: an increment lost, and one applied twice', () => {
    expect(whys([add(0, 9, 2), add(1, 8, 1), add(10, 11, 3)])).toEqual([]);
    expect(whys([add(0, 1, 1), add(2, 3, 1)])).toHaveLength(1);
    expect(whys([add(0, 1, 1), add(2, 3, 3)])).toHaveLength(1);
  });

  it('counts with lost answers: as many as were asked for, no more', () => {
    const lost = Array.from({ length: 40 }, (_, i) => add(2 + i, 3 + i));
    expect(whys([add(0, 1, 1), ...lost, add(100, 101, 42), add(102, 103, 43)])).toEqual([]);
    expect(whys([add(0, 1, 1), ...lost, add(100, 101, 43)])).toHaveLength(1);
  });

  it('tells the few operations that matter out of many', () => {
    const history: Operation[] = [];
    for (let i = 0; i < 500; i++) {
      history.push(write(i * 10, i * 10 + 3, `v${i}`), read(i * 10 + 4, i * 10 + 6, `v${i}`));
    }
    history.push(read(5000, 5001, 'v497'));
    const verdict = checkLinearizability(history);
    expect(verdict.violations[0]?.operations.length).toBeLessThan(8);
    expect(tell(verdict).join('\n')).toContain("read k and got 'v497'");
  });

  it('says so when it gives up', () => {
    const history: Operation[] = [];
    for (let i = 0; i < 30; i++) {
      history.push(write(0, 1000 + i, `w${i}`), read(0, 1000 + i, `w${29 - i}`));
    }
    const verdict = checkLinearizability(history);
    expect(verdict.violations).toEqual([]);
    expect(verdict.undecided).toEqual(['etcd k: too many operations of unknown outcome at once']);
  });
});
