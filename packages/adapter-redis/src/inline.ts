import type { ByteString } from '@lockstep/model';

const ESCAPES: Readonly<Record<string, string>> = {
  n: '\n',
  r: '\r',
  t: '\t',
  b: '\b',
  a: '\x07',
};
const isSpace = (char: string) => char === ' ' || (char >= '\t' && char <= '\r');

/**
 * Splits an inline request like a shell: double quotes with escapes, single quotes with `\'`
 * only. Undefined when quotes do not balance.
 */
export function splitInline(line: ByteString): ByteString[] | undefined {
  const words: ByteString[] = [];
  let at = 0;
  for (;;) {
    while (at < line.length && isSpace(line[at]!)) at++;
    if (at >= line.length) return words;
    const word = readWord(line, at);
    if (word === undefined) return undefined;
    words.push(word.text);
    at = word.end;
  }
}

interface Piece {
  readonly text: ByteString;
  readonly end: number;
}

function readWord(line: ByteString, start: number): Piece | undefined {
  let text = '';
  let at = start;
  while (at < line.length && !isSpace(line[at]!)) {
    const char = line[at]!;
    if (char === '"' || char === "'") {
      const quoted = char === '"' ? readDouble(line, at + 1) : readSingle(line, at + 1);
      if (quoted === undefined) return undefined;
      // A closing quote must end the word.
      if (quoted.end < line.length && !isSpace(line[quoted.end]!)) return undefined;
      return { text: text + quoted.text, end: quoted.end };
    }
    text += char;
    at++;
  }
  return { text, end: at };
}

function readDouble(line: ByteString, start: number): Piece | undefined {
  let text = '';
  for (let at = start; at < line.length; at++) {
    const char = line[at]!;
    if (char === '"') return { text, end: at + 1 };
    if (char !== '\\' || at + 1 >= line.length) {
      text += char;
      continue;
    }
    const hex = /^x([0-9a-fA-F]{2})/.exec(line.slice(at + 1, at + 4));
    if (hex !== null) {
      text += String.fromCharCode(Number.parseInt(hex[1]!, 16));
      at += 3;
    } else {
      at++;
      text += ESCAPES[line[at]!] ?? line[at]!;
    }
  }
  return undefined;
}

function readSingle(line: ByteString, start: number): Piece | undefined {
  let text = '';
  for (let at = start; at < line.length; at++) {
    if (line[at] === "'") return { text, end: at + 1 };
    if (line[at] === '\\' && line[at + 1] === "'") at++;
    text += line[at]!;
  }
  return undefined;
}
