import type { BinaryReader, BinaryWriter, ByteString } from '@lockstep/model';
import type { KeyspaceDefinition, StateReader, Transaction } from '@lockstep/state-machine';
import { collectionKey, collectionOf, ElementIndex, elementKey } from './element-index.ts';
import { DATABASES, FIRST_ELEMENTS_TABLE } from './keyspace-numbers.ts';
import type { ScanIndex } from './scan.ts';
import type { RedisValue } from './value.ts';

/** Elements freed in the transaction that drops their collection, and in each one after it. */
const FREED_AT_ONCE = 100;

/** `redis/N/elements`: the members of the sets of a database, each a record without a value. */
export const elementKeyspaces: readonly KeyspaceDefinition<null>[] = Array.from(
  { length: DATABASES },
  (_, db) => ({
    id: FIRST_ELEMENTS_TABLE + db,
    name: `redis/${db}/elements`,
    // The revision is that of the collection's own record.
    unnumbered: true,
    history: false,
    ordered: false,
    codec: { encode: () => {}, decode: () => null, sizeBytes: () => 0 },
    index: () => new ElementIndex(),
  }),
);

/** Under no key: the last number given to a collection. */
const LAST_NUMBER = '';

/** `redis/collections`: the last number, and the database of each dropped one not yet freed. */
export const collectionKeyspace: KeyspaceDefinition<number> = {
  id: FIRST_ELEMENTS_TABLE + DATABASES,
  name: 'redis/collections',
  unnumbered: true,
  history: false,
  ordered: true,
  codec: {
    encode: (writer: BinaryWriter, value: number) => void writer.varint(value),
    decode: (reader: BinaryReader) => reader.varint(),
    sizeBytes: () => 8,
  },
};

/** A number for a new collection; never given twice. */
export function newCollection(tx: Transaction): number {
  const number = (tx.get(collectionKeyspace, LAST_NUMBER)?.value ?? 0) + 1;
  tx.put(collectionKeyspace, LAST_NUMBER, number);
  return number;
}

/** Elements of a collection in hash order; undefined when it has none. */
export function elementsOf(
  reader: StateReader,
  db: number,
  collection: number,
): ScanIndex | undefined {
  return reader.index<ElementIndex>(elementKeyspaces[db]!).of(collection);
}

export function hasElement(
  reader: StateReader,
  db: number,
  collection: number,
  member: ByteString,
): boolean {
  return reader.get(elementKeyspaces[db]!, elementKey(collection, member)) !== undefined;
}

export function addElement(
  tx: Transaction,
  db: number,
  collection: number,
  member: ByteString,
): void {
  tx.put(elementKeyspaces[db]!, elementKey(collection, member), null);
}

export function removeElement(
  tx: Transaction,
  db: number,
  collection: number,
  member: ByteString,
): void {
  tx.delete(elementKeyspaces[db]!, elementKey(collection, member));
}

/**
 * The record that owned the elements of `value` is gone, or about to be. A large collection is
 * freed by and by, so that dropping it costs no more than a small one.
 */
export function dropElements(tx: Transaction, db: number, value: RedisValue): void {
  if (value.kind === 'string') return;
  tx.spend(Math.min(value.size, FREED_AT_ONCE));
  if (freeSome(tx, db, value.collection)) return;
  tx.put(collectionKeyspace, collectionKey(value.collection), db);
}

/** Frees some of what was dropped before, oldest collection first. */
export function freeDropped(tx: Transaction): void {
  // The number under no key is not a dropped collection.
  if (tx.size(collectionKeyspace) < 2) return;
  let dropped: { readonly key: ByteString; readonly db: number } | undefined;
  tx.range(collectionKeyspace, '\0', undefined, (key, { value }) => {
    dropped = { key, db: value };
    return false;
  });
  if (dropped === undefined) return;
  const { key, db } = dropped;
  const done = freeSome(tx, db, collectionOf(key));
  if (done) tx.delete(collectionKeyspace, key);
}

/** True when nothing is left of it. */
function freeSome(tx: Transaction, db: number, collection: number): boolean {
  const page = elementsOf(tx, db, collection)?.page(0, FREED_AT_ONCE);
  if (page === undefined) return true;
  for (const member of page.keys) removeElement(tx, db, collection, member);
  return page.next === 0;
}
