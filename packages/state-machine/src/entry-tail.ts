import type { Index, Term } from '@lockstep/model';
import type { CompactionSink, HistoryTable } from './history.ts';
import type { SystemRow } from './image.ts';
import type { KeyspaceTable } from './keyspace.ts';
import type { Store } from './store.ts';

/** Background steps in each entry: versions looked at by compaction, rows freed after a clear. */
const COMPACTION_STEPS_MAX = 1000;
const FREED_ROWS_MAX = 1000;

/**
 * The end of an entry: a bounded share of background work, then the rows that change once per
 * entry, then meta. Compaction belongs to the state (the quota sees it); freeing does not.
 */
export class EntryTail {
  readonly #store: Store;
  readonly #rows: SystemRow[] = [];

  constructor(store: Store) {
    this.#store = store;
  }

  /** Marks a row to be written at the end of the entry. */
  touch(row: SystemRow): void {
    if (row.dirty) return;
    row.dirty = true;
    this.#rows.push(row);
  }

  finish(index: Index, term: Term): void {
    const { image, meta, tables } = this.#store;
    for (const table of tables) this.#finishKeyspace(table);
    this.#free();
    for (const row of this.#rows) image.flush(row);
    this.#rows.length = 0;
    meta.appliedIndex = index;
    meta.appliedTerm = term;
    image.set(META_KEY, this.sealMeta());
  }

  /** Meta row with the sums as they now are; its own hash is kept beside the sums. */
  sealMeta(): Uint8Array {
    const { image, meta } = this.#store;
    const { a, b } = this.#store.sums();
    meta.sumA = a;
    meta.sumB = b;
    meta.encode(image.begin());
    const { hasher } = image;
    hasher.start(meta.table).text('');
    const bytes = image.seal(hasher.a, hasher.b);
    meta.a = hasher.a;
    meta.b = hasher.b;
    return bytes;
  }

  #finishKeyspace(table: KeyspaceTable): void {
    const { history, row } = table;
    const compacting = history !== undefined && !history.scanned;
    if (compacting) history.step(COMPACTION_STEPS_MAX, this.#dropper(table, history));
    if (compacting || row.seen !== table.lastRevision || row.number !== table.generation.number) {
      row.seen = table.lastRevision;
      row.number = table.generation.number;
      this.touch(row);
    }
  }

  #dropper(table: KeyspaceTable, history: HistoryTable): CompactionSink {
    const { image } = this.#store;
    return {
      dropped: (revision, sub, sizeBytes) => {
        image.set(history.imageKey(revision, sub), undefined);
        table.generation.liveBytes -= sizeBytes;
      },
    };
  }

  /** Deletes some rows of generations swapped out, and lets their slots go. */
  #free(): void {
    const { garbage, image } = this.#store;
    for (let left = FREED_ROWS_MAX; left > 0; left--) {
      const first = garbage[0];
      if (first === undefined) return;
      const next = first.keys.next();
      if (next.done === true) {
        garbage.shift();
        continue;
      }
      const slot = first.generation?.slots.get(next.value);
      if (slot !== undefined) this.#store.setSlotDeadline(slot, 0);
      image.set(first.prefix + next.value, undefined);
    }
  }
}

/** Table 0 and no more. */
const META_KEY = '\0\0';
