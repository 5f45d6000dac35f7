import { describe, expect, it } from 'vitest';
import { checkRevisions, type Operation } from '../src/index.ts';
import { op } from './operations.ts';

const whys = (operations: Operation[]): string[] =>
  checkRevisions(operations).violations.map(({ why }) => why);
const write = (call: number, end: number, value: string, revision: number, key = 'k'): Operation =>
  op(call, end, { op: 'write', key, value, revision });
const read = (
  call: number,
  end: number,
  result: string | null,
  mod: number | undefined,
  revision?: number,
): Operation =>
  op(call, end, {
    op: 'read',
    key: 'k',
    result,
    ...(mod !== undefined && { mod }),
    ...(revision !== undefined && { revision }),
  });

describe('the revision witness', () => {
  it('passes what is in order through all doors', () => {
    const good = [
      write(0, 5, 'a', 2),
      op(1, 9, { op: 'write', door: 'zookeeper', key: '/k', value: 'z', revision: 3 }),
      read(10, 12, 'a', 2, 3),
      op(13, 20, {
        op: 'cas',
        key: 'k',
        expected: 'a',
        expectedMod: 2,
        value: 'b',
        result: true,
        revision: 5,
      }),
      op(21, 25, {
        op: 'cas',
        key: 'k',
        expected: 'a',
        value: 'c',
        result: false,
        actual: 'b',
        mod: 5,
        revision: 5,
      }),
      op(22, 26, { op: 'delete', key: 'k', result: true, revision: 6 }),
      read(30, 31, null, undefined, 6),
      op(32, 33, { op: 'add', door: 'redis', key: 'n', value: 1, result: 1 }),
    ];
    expect(whys(good)).toEqual([]);
  });

  it('notices one revision given to two writes, of different doors too', () => {
    const twin = op(1, 6, { op: 'write', door: 'redis', key: 'r', value: 'x', revision: 2 });
    expect(whys([write(0, 5, 'a', 2), twin])).toEqual(['two writes were given revision 2']);
  });

  it('notices a later write with a smaller revision', () => {
    expect(whys([write(0, 5, 'a', 7), write(6, 9, 'b', 3, 'other')])).toEqual([
      'a later write was given a revision that is not greater',
    ]);
  });

  it('lets overlapping writes have either order', () => {
    expect(whys([write(0, 7, 'a', 7), write(6, 9, 'b', 3, 'other')])).toEqual([]);
  });

  it('notices a read of a state from before what was told', () => {
    expect(whys([write(0, 5, 'a', 2), write(6, 8, 'b', 4), read(9, 12, 'a', 2, 3)])).toEqual([
      'a linearizable read saw a state older than what had been told before',
    ]);
  });

  it('notices a stale read where the door tells the write but not the state', () => {
    const stale = op(9, 12, { op: 'read', door: 'redis', key: 'k', result: 'a', mod: 2 });
    const writes = [write(0, 5, 'a', 2), write(6, 8, 'b', 4)].map((each) => ({
      ...each,
      door: 'redis' as const,
    }));
    expect(whys([...writes, stale])).toEqual([
      'a linearizable read missed a write that had been told before',
    ]);
  });

  it('notices a read that missed a write before the state it claims', () => {
    expect(whys([write(0, 5, 'a', 2), write(1, 20, 'b', 4), read(9, 12, 'a', 2, 6)])).toEqual([
      'a read at revision 6 missed the write at revision 4',
    ]);
  });

  it('notices a lost write', () => {
    expect(whys([write(0, 5, 'a', 2), read(9, 12, null, undefined, 6)])).toEqual([
      'a read found nothing where a write was',
    ]);
  });

  it('notices a value that nobody wrote, and a revision with two values', () => {
    expect(whys([write(0, 5, 'a', 2), read(9, 12, 'ghost', 4, 4)])).toEqual([
      'nobody wrote that value at revision 4',
    ]);
    expect(whys([write(0, 5, 'a', 2), read(9, 12, 'ghost', 2, 4)])).toEqual([
      'revision 2 of one key has two values',
    ]);
  });

  it('learns the fate of a lost answer from who sees it, and holds it against later ones', () => {
    const lost = op(6, 8, { op: 'write', key: 'k', value: 'b', outcome: 'unknown' });
    const first = write(0, 5, 'a', 2);
    expect(whys([first, lost, read(20, 22, 'b', 9, 9)])).toEqual([]);
    expect(whys([first, lost, read(20, 22, 'b', 9, 9), read(23, 24, 'b', 10, 10)])).toEqual([
      'nobody wrote that value at revision 10',
    ]);
    expect(whys([first, lost, read(20, 22, 'b', 9, 9), read(23, 24, 'a', 2, 10)])).toEqual([
      'a read at revision 10 missed the write at revision 9',
      'a linearizable read missed a write that had been told before',
    ]);
    expect(whys([write(0, 5, 'a', 12), lost, read(20, 22, 'b', 9, 13)])).toContain(
      'a later write was given a revision that is not greater',
    );
  });

  it('notices a value seen before it was asked for', () => {
    const early = op(30, 31, { op: 'write', key: 'k', value: 'b', outcome: 'unknown' });
    expect(whys([write(0, 1, 'a', 2), early, read(20, 22, 'b', 9, 9)])).toContain(
      'a value was seen before anybody asked to write it',
    );
  });

  it('notices a compare-and-set that overwrote what it had not seen', () => {
    const cas = op(9, 12, {
      op: 'cas',
      key: 'k',
      expected: 'a',
      expectedMod: 2,
      value: 'c',
      result: true,
      revision: 6,
    });
    expect(whys([write(0, 5, 'a', 2), write(6, 8, 'b', 4), cas])).toEqual([
      'a compare-and-set wrote although another write had come between',
    ]);
  });

  it('lets local reads be old, but not older than their client has seen', () => {
    const weak = (call: number, mod: number, result: string, revision: number): Operation =>
      op(call, call + 1, {
        op: 'read',
        client: 'reader',
        door: 'zookeeper',
        key: 'k',
        weak: true,
        result,
        mod,
        revision,
      });
    const writes = [write(0, 5, 'a', 2), write(6, 8, 'b', 4)].map((each) => ({
      ...each,
      door: 'zookeeper' as const,
    }));
    expect(whys([...writes, weak(10, 2, 'a', 2), weak(12, 4, 'b', 4)])).toEqual([]);
    expect(whys([...writes, weak(10, 4, 'b', 4), weak(12, 2, 'a', 2)])).toEqual([
      'a client was shown an older state than it had seen',
    ]);
  });
});
