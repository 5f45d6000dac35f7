/** Random commands over few keys, the same for the same seed. */
export function randomCommands(seed: number, count: number): string[][] {
  const random = xorshift(seed);
  const pick = <T>(choices: readonly T[]): T => choices[random() % choices.length]!;
  const fill = (word: string): string[] => {
    switch (word) {
      case 'KEY':
        return [pick(KEYS)];
      case 'VALUE':
        return [pick(VALUES)];
      case 'NUMBER':
        return [pick(NUMBERS)];
      case 'FUTURE':
        return [pick(FUTURES)];
      case 'OPTIONS':
        return Array.from({ length: random() % 3 }, () => pick(OPTIONS)).flat();
      case 'CONDITION':
        return random() % 2 === 0 ? [] : [pick(['NX', 'XX', 'nx', 'FOO'])];
      default:
        return [word];
    }
  };
  return Array.from({ length: count }, () => pick(TEMPLATES).split(' ').flatMap(fill));
}

const KEYS = ['a', 'b', 'c', 'd', ''];
const VALUES = ['1', '5', '-3', 'text', '', '1.5', '9223372036854775807', '\xff\x00', 'a b'];
const NUMBERS = ['0', '1', '-1', '3', '-5', '100', 'x', '1.5', '9223372036854775807', '-0'];
/** Far enough away that both servers agree on what is left. */
const FUTURES = ['100000', '200000', '300000', '0', '-1', 'x'];
const OPTIONS: readonly (readonly string[])[] = [
  ['NX'],
  ['XX'],
  ['GET'],
  ['KEEPTTL'],
  ['EX', '100000'],
  ['PX', '0'],
  ['EX', '-1'],
  ['PXAT', '1'],
  ['EXAT', '4000000000'],
  ['EX'],
  ['FOO'],
];

const TEMPLATES = [
  'SET KEY VALUE',
  'SET KEY VALUE OPTIONS',
  'SET KEY VALUE OPTIONS',
  'SETNX KEY VALUE',
  'SETEX KEY FUTURE VALUE',
  'GET KEY',
  'GETSET KEY VALUE',
  'GETDEL KEY',
  'GETEX KEY OPTIONS',
  'GETEX KEY PERSIST',
  'MGET KEY KEY KEY',
  'MSET KEY VALUE KEY VALUE',
  'MSETNX KEY VALUE KEY VALUE',
  'APPEND KEY VALUE',
  'STRLEN KEY',
  'GETRANGE KEY NUMBER NUMBER',
  'SETRANGE KEY NUMBER VALUE',
  'INCR KEY',
  'DECR KEY',
  'INCRBY KEY NUMBER',
  'DECRBY KEY NUMBER',
  'DEL KEY',
  'DEL KEY KEY',
  'UNLINK KEY',
  'EXISTS KEY KEY',
  'TYPE KEY',
  'RENAME KEY KEY',
  'RENAMENX KEY KEY',
  'COPY KEY KEY',
  'COPY KEY KEY REPLACE',
  'COPY KEY KEY DB 1 REPLACE',
  'MOVE KEY 1',
  'SELECT 0',
  'SELECT 1',
  'EXPIRE KEY FUTURE CONDITION',
  'PEXPIREAT KEY 4000000000000 CONDITION',
  'PEXPIREAT KEY 4100000000000 GT',
  'PEXPIREAT KEY 4000000000000 LT',
  'EXPIREAT KEY 4000000000 GT',
  'EXPIRE KEY 100 GT',
  'EXPIRE KEY 400000 LT',
  'PERSIST KEY',
  'EXPIRETIME KEY',
  'MULTI',
  'EXEC',
  'EXEC',
  'DISCARD',
  'WATCH KEY',
  'UNWATCH',
  'PING VALUE',
  'NOSUCH KEY',
];

/** Marsaglia's xorshift, 32 bits. */
function xorshift(seed: number): () => number {
  let state = seed * 2 + 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state >>> 0;
  };
}
