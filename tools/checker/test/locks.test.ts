import { describe, expect, it } from 'vitest';
import { checkLocks, type Operation } from '../src/index.ts';
import { op } from './operations.ts';

const whys = (operations: Operation[]): string[] =>
  checkLocks(operations).violations.map(({ why }) => why);
const acquire = (
  call: number,
  end: number,
  owner: string,
  token: number,
  ttlMs = 1000,
): Operation => op(call, end, { op: 'acquire', key: 'l', owner, ttlMs, result: token });
const release = (call: number, end: number, token: number): Operation =>
  op(call, end, { op: 'release', key: 'l', token, result: true });
const guarded = (
  call: number,
  end: number,
  token: number,
  result: boolean,
  revision?: number,
  guard: 'held' | 'mark' = 'held',
): Operation =>
  op(call, end, {
    op: 'guarded',
    key: 'r',
    lock: 'l',
    token,
    guard,
    value: `${token} ${call}`,
    result,
    ...(revision !== undefined && { revision }),
  });

describe('locks', () => {
  it('pass when each holder comes after the one before it', () => {
    expect(
      whys([
        acquire(0, 5, 'a', 10),
        guarded(6, 8, 10, true, 11),
        release(20, 25, 10),
        acquire(15, 23, 'b', 12),
        guarded(26, 28, 10, false),
        acquire(1500, 1501, 'c', 20),
      ]),
    ).toEqual([]);
  });

  it('notice one token with two owners', () => {
    expect(whys([acquire(0, 5, 'a', 10), acquire(1, 6, 'b', 10)])).toEqual([
      'token 10 of lock l was given to two owners',
    ]);
  });

  it('notice a token smaller than one given before', () => {
    expect(
      whys([acquire(0, 5, 'a', 10), release(6, 7, 10), acquire(8, 9, 'b', 9), release(10, 11, 9)]),
    ).toContain('lock l was given a token smaller than one given before');
  });

  it('notice a second holder before the release was asked for', () => {
    expect(whys([acquire(0, 5, 'a', 10), acquire(6, 19, 'b', 12), release(20, 25, 10)])).toEqual([
      'lock l had two holders for 1.0 ms or more',
    ]);
  });

  it('notice a second holder before the lease may end, extended or renewed', () => {
    const first = acquire(0, 5, 'a', 10);
    expect(whys([first, acquire(6, 989, 'b', 12)])).toHaveLength(1);
    expect(whys([first, acquire(6, 991, 'b', 12)])).toEqual([]);
    const extend = op(500, 510, { op: 'extend', key: 'l', token: 10, ttlMs: 1000, result: true });
    expect(whys([first, extend, acquire(6, 1400, 'b', 12)])).toHaveLength(1);
    const leased = op(10, 12, { op: 'acquire', key: 'l', owner: 'a', lease: 'x', result: 10 });
    const grant = op(0, 1, { op: 'grant', key: 'x', ttlMs: 1000 });
    const renew = op(600, 601, { op: 'renew', key: 'x', ttlMs: 1000, result: true });
    expect(whys([grant, leased, acquire(6, 1000, 'b', 12)])).toEqual([]);
    expect(whys([grant, renew, leased, acquire(6, 1000, 'b', 12)])).toHaveLength(1);
    const revoke = op(800, 900, { op: 'revoke', key: 'x' });
    expect(whys([grant, renew, revoke, leased, acquire(6, 1000, 'b', 12)])).toEqual([]);
  });
});

describe('fencing', () => {
  const holders = [acquire(0, 5, 'a', 10, 50), acquire(60, 70, 'b', 12, 1000)];

  it('notices a stale write by real time', () => {
    expect(whys([...holders, guarded(71, 80, 10, true)])).toEqual([
      'a stale write to r was accepted under token 10',
    ]);
    expect(whys([...holders, guarded(65, 80, 10, true)])).toEqual([]);
  });

  it('notices a write after the release', () => {
    const first = acquire(0, 5, 'a', 10);
    expect(whys([first, release(6, 9, 10), guarded(8, 12, 10, true)])).toEqual([]);
    expect(whys([first, release(6, 9, 10), guarded(10, 12, 10, true)])).toEqual([
      'a stale write to r was accepted under token 10',
    ]);
  });

  it('notices a stale write by revision where time says nothing', () => {
    expect(whys([...holders, guarded(65, 80, 10, true, 11)])).toEqual([]);
    expect(whys([...holders, guarded(65, 80, 10, true, 13)])).toEqual([
      'a stale write to r was accepted under token 10',
    ]);
  });

  it('knows that a recipe queues under its token before it holds', () => {
    const queued = (end: number): Operation =>
      op(1, end, { op: 'acquire', key: 'l', owner: 'b', queued: true, result: 12 });
    const release = op(40, 45, { op: 'release', key: 'l', token: 10, result: true });
    const first = acquire(0, 5, 'a', 10);
    expect(whys([first, queued(50), release, guarded(30, 35, 10, true, 15)])).toEqual([]);
    expect(whys([first, queued(50), release, guarded(51, 55, 10, true, 15)])).toHaveLength(1);
  });

  it('notices a write refused while its token held', () => {
    expect(whys([...holders, guarded(71, 80, 12, false)])).toEqual([
      'a write to r was refused though its token held',
    ]);
  });

  it('notices marks that go back', () => {
    const high = guarded(0, 5, 20, true, undefined, 'mark');
    const why = 'a write to r was accepted under a token smaller than one before it';
    expect(whys([high, guarded(6, 8, 20, true, undefined, 'mark')])).toEqual([]);
    expect(whys([high, guarded(3, 8, 19, true, undefined, 'mark')])).toEqual([]);
    expect(whys([high, guarded(6, 8, 19, true, undefined, 'mark')])).toEqual([why]);
    const [early, late] = [
      guarded(0, 9, 20, true, 30, 'mark'),
      guarded(1, 8, 19, true, 31, 'mark'),
    ];
    expect(whys([early, late])).toEqual([why]);
  });
});
