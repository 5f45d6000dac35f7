import type { FileError, FileSystem, Index } from '@lockstep/model';
import { BinaryFormatError, mark } from '@lockstep/model';
import type { Entry } from '@lockstep/raft';
import { pageOf } from '../memory-log-store.ts';
import type { LogView } from './log-view.ts';
import { decodeRecord, isIntact, peekChain, peekLength } from './record-format.ts';
import type { RecordLocation } from './record-index.ts';
import { segmentName } from './segment-header.ts';

/** One page for each follower that lags, and one to spare. */
const PAGES_MAX = 8;
const READ_BYTES_MAX = 1024 * 1024;

/**
 * Entries that left the tail cache, read back in pages of neighbouring records. Every record is
 * verified again; a page is dropped as soon as the log was cut below its end.
 */
export class OldEntries {
  readonly #fileSystem: FileSystem;
  readonly #directory: string;
  readonly #view: LogView;
  readonly #available: () => void;
  readonly #failed: (error: FileError) => void;
  readonly #fetching = new Set<Index>();
  #pages: Entry[][] = [];
  #generation = 0;

  constructor(
    fileSystem: FileSystem,
    directory: string,
    view: LogView,
    available: () => void,
    failed: (error: FileError) => void,
  ) {
    this.#fileSystem = fileSystem;
    this.#directory = directory;
    this.#view = view;
    this.#available = available;
    this.#failed = failed;
  }

  get isReading(): boolean {
    return this.#fetching.size > 0;
  }

  /** Entries from `lo`, below `hi`, when a page holds `lo`; otherwise begins to read them. */
  page(lo: Index, hi: Index, bytesMax: number): readonly Entry[] | undefined {
    if (this.#generation !== this.#view.generation) this.#trim();
    const at = this.#pages.findIndex((page) => page[0]!.index <= lo && lo <= page.at(-1)!.index);
    if (at < 0) {
      this.#fetch(lo);
      return undefined;
    }
    const [page] = this.#pages.splice(at, 1);
    this.#pages.push(page!);
    const start = lo - page![0]!.index;
    const end = Math.min(page!.length, hi - page![0]!.index);
    return pageOf(page!, start, end, bytesMax);
  }

  /** After a cut: what a page holds must still be what the log holds. */
  #trim(): void {
    this.#generation = this.#view.generation;
    this.#pages = this.#pages.filter((page) => {
      const last = page.at(-1)!;
      return (
        this.#view.term(last.index) === last.term && this.#view.term(page[0]!.index) !== undefined
      );
    });
  }

  #fetch(lo: Index): void {
    if (this.#fetching.has(lo)) return;
    const run = this.#view.records.run(lo, READ_BYTES_MAX).map((location) => ({ ...location }));
    const first = run[0];
    if (first === undefined) {
      this.#failed({ code: 'EIO', message: `no record holds ${lo}` });
      return;
    }
    this.#fetching.add(lo);
    const { generation } = this.#view;
    const path = `${this.#directory}/${segmentName(first.segment)}`;
    const last = run.at(-1)!;
    const length = last.offset + last.length - first.offset;
    this.#read(path, first.offset, length, (error, bytes) => {
      this.#fetching.delete(lo);
      // A segment may be compacted away meanwhile; whoever asks again is told so.
      if (error !== undefined && lo >= this.#view.firstIndex) return this.#failed(error);
      if (error === undefined && generation === this.#view.generation) {
        const page = this.#decode(path, run, bytes);
        if (page === undefined) return;
        this.#pages.push(page);
        if (this.#pages.length > PAGES_MAX) this.#pages.shift();
      }
      this.#available();
    });
  }

  #read(
    path: string,
    offset: number,
    length: number,
    done: (error: FileError | undefined, bytes: Uint8Array) => void,
  ): void {
    this.#fileSystem.open(path, 'read', (openError, file) => {
      if (openError !== undefined) return done(openError, new Uint8Array(0));
      this.#fileSystem.read(file, offset, length, (readError, bytes) => {
        this.#fileSystem.close(file, (closeError) => done(readError ?? closeError, bytes));
      });
    });
  }

  #decode(path: string, run: readonly RecordLocation[], bytes: Uint8Array): Entry[] | undefined {
    const start = run[0]!.offset;
    const page: Entry[] = [];
    for (const location of run) {
      const at = location.offset - start;
      const record = bytes.subarray(at, at + location.length);
      const entries = entriesOf(record, location);
      if (entries === undefined) {
        mark('old log record is damaged');
        const message = `record in ${path} at offset ${location.offset} is damaged`;
        this.#failed({ code: 'LOG_DAMAGED', message });
        return undefined;
      }
      for (const entry of entries) page.push(entry);
    }
    return page;
  }
}

function entriesOf(record: Uint8Array, location: RecordLocation): readonly Entry[] | undefined {
  if (record.length !== location.length || peekLength(record, 0) !== location.length) {
    return undefined;
  }
  if (peekChain(record).previousCrc !== location.previousCrc) return undefined;
  if (!isIntact(record, location.segment)) return undefined;
  try {
    const { entries } = decodeRecord(record, location.offset);
    const count = location.last - location.first + 1;
    if (entries[0]?.index !== location.first || entries.length < count) return undefined;
    return entries.slice(0, count);
  } catch (error) {
    if (error instanceof BinaryFormatError) return undefined;
    throw error;
  }
}
