import { describe, expect, it } from 'vitest';
import {
  checkAssumptions,
  checkHistory,
  encodeHeader,
  encodeOperation,
  HistoryReader,
  type Operation,
} from '../src/index.ts';
import { op } from './operations.ts';

const read = (text: string): Operation[] => {
  const reader = new HistoryReader();
  reader.push(text);
  return reader.operations;
};

describe('a history file', () => {
  const operation = op(1, 2, { op: 'write', key: 'k', value: 'ö\n', revision: 3 });
  const good = encodeHeader('a test', '7') + encodeOperation(operation);

  it('is read as it was written, in pieces of any size, without a torn last line', () => {
    const reader = new HistoryReader();
    for (const piece of `${good}{"op":"wri`) reader.push(piece);
    expect(reader.operations).toEqual([operation]);
    expect(reader.header).toMatchObject({ source: 'a test', seed: '7' });
  });

  it('is refused with the line when it is none', () => {
    expect(() => read('{"history":"other"}\n')).toThrow('line 1');
    expect(() => read(encodeHeader('x').replace('"version":1', '"version":9'))).toThrow(
      'version 9',
    );
    expect(() => read(`${good}{"op":"frob"}\n`)).toThrow('line 3 has no operation frob');
    expect(() => read(`${good}nonsense\n`)).toThrow('line 3 is not JSON');
    const { call: _, ...timeless } = operation;
    expect(() => read(`${good}${JSON.stringify(timeless)}\n`)).toThrow('line 3 lacks call');
  });
});

describe('what the checks assume', () => {
  it('is that a client waits, and that values are unique', () => {
    const first = op(0, 10, { op: 'write', key: 'k', client: 'c', value: 'a', revision: 2 });
    const overlapping = op(5, 12, { op: 'write', key: 'k', client: 'c', value: 'b', revision: 3 });
    const again = op(20, 22, { op: 'write', key: 'k', value: 'a', revision: 4 });
    expect(checkAssumptions([first]).violations).toEqual([]);
    expect(checkAssumptions([first, overlapping]).violations).toHaveLength(1);
    expect(checkAssumptions([first, again]).violations).toHaveLength(1);
    expect(checkHistory([first, again])).toHaveLength(1);
  });
});
