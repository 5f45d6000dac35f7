import { describe, expect, it } from 'vitest';
import { checkLeases, type Operation } from '../src/index.ts';
import { op } from './operations.ts';

const whys = (operations: Operation[]): string[] =>
  checkLeases(operations).violations.map(({ why }) => why);
const grant = op(0, 20, { op: 'grant', key: 'x', ttlMs: 1000 });
const renew = (call: number, end: number, rest: Partial<Operation> = {}): Operation =>
  ({
    ...op(call, end, { op: 'renew', key: 'x', ttlMs: 1000, result: true }),
    ...rest,
  }) as Operation;
const gone = (end: number): Operation => op(end - 5, end, { op: 'gone', key: 'x' });

describe('a lease', () => {
  it('may end late', () => {
    expect(whys([grant, gone(1500)])).toEqual([]);
  });

  it('is noticed when it ends early, counted from when the renewal was sent', () => {
    expect(whys([grant, gone(989)])).toEqual(['lease x ended 1.0 ms or more before its time']);
    expect(whys([grant, gone(991)])).toEqual([]);
    expect(whys([grant, renew(500, 980), gone(1489)])).toHaveLength(1);
    expect(whys([grant, renew(500, 980), gone(1491)])).toEqual([]);
  });

  it('does not count renewals that were not acknowledged', () => {
    expect(whys([grant, renew(500, 980, { outcome: 'unknown' }), gone(1000)])).toEqual([]);
  });

  it('is noticed when a renewal is refused before its time', () => {
    const refused = renew(700, 800, { result: false } as Partial<Operation>);
    expect(whys([grant, refused])).toHaveLength(1);
  });

  it('ends when it is given back', () => {
    expect(whys([grant, op(100, 110, { op: 'revoke', key: 'x' }), gone(200)])).toEqual([]);
  });
});
