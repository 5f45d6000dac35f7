import { describe, expect, test } from 'vitest';
import { isValidPath, parentPath, sequenceSuffix } from '../src/paths.ts';

const utf8 = (text: string): string => Buffer.from(text).toString('latin1');

describe('paths', () => {
  test.each(['/', '/a', '/a/b', '/.b', '/...', '/a b', '/..a', '/é', '/日本'])(
    '%s may name a node',
    (path) => {
      expect(isValidPath(utf8(path))).toBe(true);
    },
  );

  test.each([
    ['', 'empty'],
    ['a', 'relative'],
    ['/a/', 'ends in a slash'],
    ['/a//b', 'has an empty component'],
    ['/.', 'has a dot component'],
    ['/a/../b', 'has a dot-dot component'],
    ['/a/..', 'ends in dot-dot'],
    ['/a\0', 'contains NUL'],
    ['/a\x1f', 'contains a control character'],
    ['/a\x7f', 'contains DEL'],
    ['/a\u0085', 'contains a C1 control'],
    ['/\ue000', 'contains a private character'],
    ['/😀', 'contains an astral character'],
    ['/\ufff0', 'contains a special'],
  ])('%j is refused: %s', (path) => {
    expect(isValidPath(utf8(path))).toBe(false);
  });

  test('bytes that are no UTF-8 are refused', () => {
    expect(isValidPath('/\xff\xfe')).toBe(false);
  });

  test.each([
    ['/a', '/'],
    ['/', '/'],
    ['/a/b', '/a'],
    ['/a//b', '/a/'],
    ['/a/', '/a'],
  ])('the parent of %s is %s', (path, parent) => {
    expect(parentPath(path)).toBe(parent);
  });

  test('sequence numbers have ten places and may turn negative', () => {
    expect(sequenceSuffix(0)).toBe('0000000000');
    expect(sequenceSuffix(2147483647)).toBe('2147483647');
    expect(sequenceSuffix(-2147483648)).toBe('-2147483648');
    expect(sequenceSuffix(-5)).toBe('-000000005');
  });
});
