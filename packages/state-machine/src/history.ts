import {
  type BinaryReader,
  type BinaryWriter,
  type ByteString,
  invariant,
  type Revision,
} from '@lockstep/model';
import type { AnyKeyspace, HistoryReference } from './contract.ts';
import { versionKey } from './image.ts';
import { OrderedMap } from './ordered-map.ts';
import { RevisionIndex } from './revision-index.ts';

const SIZE_RANGE = 2 ** 26;

/**
 * The versions of one key as packed pairs (revision, mark): two numbers a version and no object.
 * mark = (sub × 2^26 + size in bytes) × 2 + live.
 */
export class KeyHistory {
  readonly key: ByteString;
  #versions: number[] = [];
  /** Numbers at the front that are dropped but not yet cut off: a cut moves the whole list. */
  #head = 0;

  constructor(key: ByteString) {
    this.key = key;
  }

  push(revision: Revision, sub: number, live: boolean, sizeBytes: number): void {
    const mark = (sub * SIZE_RANGE + sizeBytes) * 2 + (live ? 1 : 0);
    // Most keys have one version: a literal takes two places, a list that grew takes seventeen.
    if (this.#versions.length === 0) this.#versions = [revision, mark];
    else this.#versions.push(revision, mark);
  }

  get count(): number {
    return (this.#versions.length - this.#head) / 2;
  }

  revision(at: number): Revision {
    return this.#versions[this.#head + at * 2]!;
  }

  sub(at: number): number {
    return Math.floor(this.#versions[this.#head + at * 2 + 1]! / (2 * SIZE_RANGE));
  }

  live(at: number): boolean {
    return this.#versions[this.#head + at * 2 + 1]! % 2 === 1;
  }

  sizeBytes(at: number): number {
    return Math.floor(this.#versions[this.#head + at * 2 + 1]! / 2) % SIZE_RANGE;
  }

  /** Drops the oldest version. */
  shift(): void {
    this.#head += 2;
    if (this.#head < 32 || this.#head * 2 < this.#versions.length) return;
    this.#versions = this.#versions.slice(this.#head);
    this.#head = 0;
  }

  /** Position of the newest version at or below `revision`; −1 when there is none. */
  find(revision: Revision): number {
    let low = 0;
    let high = this.count;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.revision(middle) <= revision) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }
}

/** Told of each version that compaction drops. */
export interface CompactionSink {
  dropped(revision: Revision, sub: number, sizeBytes: number): void;
}

/**
 * History of a keyspace: which versions exist. Their values live only in the image, under
 * (keyspace, revision, sub). Compaction takes effect at once for readers; its physical work is
 * a scan of the revision index in bounded steps whose progress is replicated, so that a reloaded
 * member goes on at the same place.
 */
export class HistoryTable {
  readonly #definition: AnyKeyspace;
  readonly #keys = new OrderedMap<KeyHistory>();
  readonly #index = new RevisionIndex();
  compacted: Revision = 0;
  /** True when the scan has reached `compacted`. */
  #scanned = true;
  /** Changes before this place are no longer in the index, though a version may be kept. */
  #scanRevision: Revision = 0;
  #scanSub = 0;

  constructor(definition: AnyKeyspace) {
    this.#definition = definition;
  }

  /** Image key of a version. */
  imageKey(revision: Revision, sub: number): ByteString {
    return versionKey(this.#definition.id, revision, sub);
  }

  ofKey(key: ByteString): KeyHistory {
    let history = this.#keys.get(key);
    if (history === undefined) {
      history = new KeyHistory(key);
      this.#keys.set(key, history);
    }
    return history;
  }

  /** Drops a key that has no version, after its first put was undone. */
  forget(history: KeyHistory): void {
    this.#keys.delete(history.key);
  }

  append(key: KeyHistory, revision: Revision, sub: number, live: boolean, sizeBytes: number): void {
    invariant(sizeBytes < SIZE_RANGE, () => `version of ${sizeBytes} bytes`);
    if (key.count === 0) this.#keys.set(key.key, key);
    key.push(revision, sub, live, sizeBytes);
    this.#index.append(revision, sub, live, key);
  }

  /** As `append`, at load: what the scan has passed stays out of the index. */
  load(key: KeyHistory, revision: Revision, sub: number, live: boolean, sizeBytes: number): void {
    key.push(revision, sub, live, sizeBytes);
    if (revision < this.#scanRevision) return;
    if (revision === this.#scanRevision && sub < this.#scanSub) return;
    this.#index.append(revision, sub, live, key);
  }

  rangeAt(
    from: ByteString,
    to: ByteString | undefined,
    revision: Revision,
    visit: (reference: HistoryReference) => boolean | undefined,
  ): void {
    this.#keys.scan(from, to, (_, history) => {
      const at = history.find(revision);
      if (at === -1 || !history.live(at)) return true;
      return visit(this.#reference(history, at));
    });
  }

  /** Revision of the `keep`-th newest change; 0 when there are fewer. */
  newest(keep: number): Revision {
    return this.#index.newest(keep);
  }

  changesBetween(
    first: Revision,
    last: Revision,
    visit: (reference: HistoryReference) => boolean | undefined,
  ): void {
    const keyspace = this.#definition;
    this.#index.scan(first, last, ({ key }, revision, sub, live) =>
      visit({ keyspace, key, revision, sub, live }),
    );
  }

  /** Nothing at or below the compacted revision has a predecessor that readers may see, whether
   * or not the scan has dropped it yet. */
  versionBefore(key: ByteString, revision: Revision): HistoryReference | undefined {
    if (revision <= this.compacted) return undefined;
    const history = this.#keys.get(key);
    if (history === undefined) return undefined;
    const at = history.find(revision - 1);
    if (at === -1 || !history.live(at)) return undefined;
    return this.#reference(history, at);
  }

  #reference(history: KeyHistory, at: number): HistoryReference {
    return {
      keyspace: this.#definition,
      key: history.key,
      revision: history.revision(at),
      sub: history.sub(at),
      live: history.live(at),
    };
  }

  /** Drops history below `revision` for readers; `step` does the work. */
  compact(revision: Revision): void {
    invariant(revision > this.compacted, () => `compaction at ${revision} after ${this.compacted}`);
    this.compacted = revision;
    this.#scanned = false;
  }

  /** Takes a compaction back; only within its transaction, before any step. */
  uncompact(revision: Revision, scanned: boolean): void {
    this.compacted = revision;
    this.#scanned = scanned;
  }

  get scanned(): boolean {
    return this.#scanned;
  }

  /** One bounded step of the scan. Returns whether anything was done. */
  step(limit: number, sink: CompactionSink): boolean {
    if (this.#scanned) return false;
    for (let done = 0; done < limit; done++) {
      const first = this.#index.first();
      if (first === undefined || first.revision >= this.compacted) {
        this.#finish(sink);
        return true;
      }
      this.#dropBefore(first.key, first.revision, first.sub, sink);
      this.#dropSuperseded(first.key, sink);
      this.#index.shift();
      this.#scanRevision = first.revision;
      this.#scanSub = first.sub + 1;
    }
    return true;
  }

  /** Versions at exactly the compacted revision stay in the index for watchers that start there,
   * but what they replaced goes. */
  #finish(sink: CompactionSink): void {
    this.#index.scan(this.compacted, this.compacted, (key) => {
      this.#dropBefore(key, this.compacted, 0, sink);
      return true;
    });
    this.#scanned = true;
  }

  /** Whatever is older than a version at or below the compacted revision is superseded by it. */
  #dropBefore(history: KeyHistory, revision: Revision, sub: number, sink: CompactionSink): void {
    while (history.count > 0) {
      const oldest = history.revision(0);
      if (oldest > revision || (oldest === revision && history.sub(0) >= sub)) return;
      this.#drop(history, sink);
    }
  }

  /** Drops the oldest version, which lies below the compacted revision, if a newer one at or
   * below that follows it, or if it is a tombstone. */
  #dropSuperseded(history: KeyHistory, sink: CompactionSink): void {
    invariant(history.count > 0, 'key in the revision index without a version');
    const followed = history.count > 1 && history.revision(1) <= this.compacted;
    if (!followed && history.live(0)) return;
    this.#drop(history, sink);
    if (history.count === 0) this.#keys.delete(history.key);
  }

  #drop(history: KeyHistory, sink: CompactionSink): void {
    sink.dropped(history.revision(0), history.sub(0), history.sizeBytes(0));
    history.shift();
  }

  encodeProgress(writer: BinaryWriter): void {
    writer.f64(this.compacted).u8(this.#scanned ? 1 : 0);
    writer.f64(this.#scanRevision).varint(this.#scanSub);
  }

  decodeProgress(reader: BinaryReader): void {
    this.compacted = reader.f64();
    this.#scanned = reader.u8() === 1;
    this.#scanRevision = reader.f64();
    this.#scanSub = reader.varint();
  }
}
