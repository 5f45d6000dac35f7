import { describe, expect, it } from 'vitest';
import { checkWatches, type Operation } from '../src/index.ts';
import { op } from './operations.ts';

const whys = (operations: Operation[]): string[] =>
  checkWatches(operations).violations.map(({ why }) => why);
const open = (key: string, from = 1): Operation =>
  op(0, 1, { op: 'watch', key, prefix: 'w/', from });
const event = (key: string, revision: number, value: string | null, subject = 'w/a'): Operation =>
  op(10, 10 + revision, { op: 'event', key, subject, value, revision });
const write = (revision: number, value: string, key = 'w/a'): Operation =>
  op(2, 5, { op: 'write', key, value, revision });
const complete = (key: string, revision: number): Operation =>
  op(50, 50, { op: 'progress', key, revision });

describe('a watch', () => {
  it('tells every write, once, in order', () => {
    expect(
      whys([
        write(2, 'x'),
        write(4, 'y', 'other'),
        write(5, 'z', 'w/b'),
        open('s'),
        event('s', 2, 'x'),
        event('s', 5, 'z', 'w/b'),
        complete('s', 6),
      ]),
    ).toEqual([]);
  });

  it('is noticed when it misses one, at its end too', () => {
    const writes = [write(2, 'x'), write(3, 'y'), write(5, 'z')];
    const gap = [...writes, open('s'), event('s', 2, 'x'), event('s', 5, 'z')];
    expect(whys(gap)).toEqual(['stream s missed w/a at revision 3']);
    const end = [...writes, open('s'), event('s', 2, 'x'), event('s', 3, 'y')];
    expect(whys(end)).toEqual([]);
    expect(whys([...end, complete('s', 5)])).toEqual(['stream s missed w/a at revision 5']);
  });

  it('is noticed when it misses what another stream was told', () => {
    const other = [open('t'), event('t', 2, 'x'), event('t', 3, null), event('t', 4, 'y')];
    expect(whys([...other, open('s', 2), event('s', 2, 'x'), event('s', 4, 'y')])).toEqual([
      'stream s missed w/a at revision 3',
    ]);
  });

  it('need not tell values', () => {
    const changed = (revision: number): Operation =>
      op(10, 11, { op: 'event', key: 's', subject: 'w/a', revision });
    const writes = [write(2, 'x'), write(3, 'y')];
    expect(whys([...writes, open('s'), changed(2), changed(3), complete('s', 3)])).toEqual([]);
    expect(whys([...writes, open('s'), changed(2), complete('s', 3)])).toEqual([
      'stream s missed w/a at revision 3',
    ]);
  });

  it('is noticed when it tells one event twice or goes back', () => {
    expect(whys([open('s'), event('s', 2, 'x'), event('s', 2, 'x')])).toEqual([
      'a stream told one event twice',
    ]);
    expect(whys([open('s'), event('s', 3, 'x'), event('s', 2, 'y')])).toEqual([
      'a stream went back',
    ]);
  });

  it('is noticed when it tells what was not asked for', () => {
    expect(whys([open('s', 5), event('s', 3, 'x')])).toEqual([
      'a stream told what was not asked for',
    ]);
    expect(whys([open('s'), event('s', 3, 'x', 'v/a')])).toEqual([
      'a stream told what was not asked for',
    ]);
  });

  it('is noticed when it tells another value than was written or than others were told', () => {
    expect(whys([write(2, 'x'), open('s'), event('s', 2, 'q'), complete('s', 2)])).toEqual([
      'stream s told another value than was written',
    ]);
    expect(whys([open('s'), open('t'), event('s', 2, 'q'), event('t', 2, 'x')])).toEqual([
      'streams tell two values of w/a at revision 2',
    ]);
  });
});
