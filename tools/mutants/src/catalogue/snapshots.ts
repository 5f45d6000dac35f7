import type { Mutant } from '../mutant.ts';

const LOAD = 'packages/state-machine/src/image-load.ts';
const WRITER = 'packages/replica/src/image-writer.ts';

/** Snapshots, images and the border of the log (catalogue S, D-8, A-13). */
export const SNAPSHOTS: readonly Mutant[] = [
  {
    name: 'snapshot-loses-sessions',
    title: 'records of a snapshot are not hung on their sessions and leases',
    catalogue: 'A-13',
    edits: [{ file: LOAD, find: 'store.moveLease(slot, 0, record.lease);', replace: '' }],
  },
  {
    name: 'snapshot-loses-deadlines',
    title: 'leases of a snapshot have lost their deadlines',
    catalogue: 'A-13',
    edits: [
      {
        file: LOAD,
        find: 'store.setLeaseDeadline(lease, reader.f64());',
        replace: 'reader.f64();',
      },
    ],
  },
  {
    name: 'snapshot-loses-duplicates',
    title: 'a snapshot has lost which commands were applied',
    catalogue: 'A-1',
    edits: [
      {
        file: 'packages/state-machine/src/duplicate-table.ts',
        find: 'row.lastSequence = reader.varint();',
        replace: 'reader.varint();',
      },
    ],
  },
  {
    name: 'snapshot-loses-fences',
    title: 'a snapshot has lost the highest tokens seen by resources',
    catalogue: 'design §9',
    edits: [{ file: LOAD, find: 'store.fences.add(row);', replace: '' }],
  },
  {
    name: 'snapshot-loses-waiters',
    title: 'a snapshot has lost who waits for a lock',
    catalogue: 'design §9',
    edits: [{ file: LOAD, find: 'store.queues.add(waiter);', replace: '' }],
  },
  {
    name: 'revision-repeated-on-reload',
    title: 'a reload takes the revision back by one, so that a token is given twice',
    catalogue: 'D-9',
    edits: [
      {
        file: LOAD,
        find: 'meta.revision = reader.f64();',
        replace: 'meta.revision = Math.max(1, reader.f64() - 1);',
      },
    ],
  },
  {
    name: 'position-not-with-data',
    title: 'the applied index is written in another batch than the data',
    catalogue: 'D-8',
    edits: [
      {
        file: WRITER,
        find: '[{ key: POSITION_KEY, value: encodePosition(position) }]',
        replace:
          '[{ key: POSITION_KEY, value: encodePosition(lastPosition ?? position) ' +
          '}]; lastPosition = position',
      },
      {
        file: WRITER,
        find: 'function batchOf(',
        replace: 'let lastPosition: ImagePosition | undefined; function batchOf(',
      },
    ],
  },
  {
    name: 'unsynced-image-counts',
    title: 'log entries go after an image batch that was not synced',
    catalogue: 'S-7',
    edits: [
      {
        file: WRITER,
        find: 'this.#options.written(synced ? position : undefined);',
        replace: 'this.#options.written(position);',
      },
    ],
  },
  {
    name: 'snapshot-not-durable',
    title: 'a snapshot is acknowledged before it is on disk',
    catalogue: 'rule 3 of §2.2',
    edits: [
      {
        file: 'packages/replica/src/snapshot-receiver.ts',
        find: 'this.#write([], true, store,',
        replace: 'this.#write([], false, store,',
      },
    ],
  },
];
