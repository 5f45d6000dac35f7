import { closeSync, openSync, readSync } from 'node:fs';
import { StringDecoder } from 'node:string_decoder';
import { HistoryFormatError, type HistoryHeader, HistoryReader } from './history.ts';
import type { Operation } from './operation.ts';

export interface History {
  readonly header: HistoryHeader;
  readonly operations: Operation[];
}

/** Reads a history piece by piece, since one string holds at most 512 MiB. */
export function readHistory(path: string): History {
  const reader = new HistoryReader();
  const decoder = new StringDecoder('utf8');
  const bytes = Buffer.alloc(1 << 20);
  const file = openSync(path, 'r');
  try {
    for (;;) {
      const length = readSync(file, bytes);
      if (length === 0) break;
      reader.push(decoder.write(bytes.subarray(0, length)));
    }
  } finally {
    closeSync(file);
  }
  if (reader.header === undefined) throw new HistoryFormatError('the file is empty');
  return { header: reader.header, operations: reader.operations };
}
