import type { Mutant } from '../mutant.ts';

const WRITER = 'packages/storage/src/wal/segment-writer.ts';
const SCAN = 'packages/storage/src/wal/segment-scan.ts';

/** The write-ahead log and the data directory (catalogue D). */
export const STORAGE: readonly Mutant[] = [
  {
    name: 'record-not-synced',
    title: 'a log record counts as durable without a sync',
    catalogue: 'D-5, D-6',
    edits: [{ file: WRITER, find: '.writeDurably(open.file,', replace: '.write(open.file,' }],
  },
  {
    name: 'failed-sync-ignored',
    title: 'a failed sync is taken for a good one',
    catalogue: 'D-1',
    edits: [
      {
        file: WRITER,
        find: `if (error === undefined) {
          open.offset = offset + length;
          open.crc = crc;
        }
        done(error, place);`,
        replace: `open.offset = offset + length;
        open.crc = crc;
        done(error && undefined, place);`,
      },
    ],
  },
  {
    name: 'torn-tail-kept',
    title: 'a record that fails its checksum at the end of the log is replayed',
    catalogue: 'D-7',
    edits: [
      {
        file: SCAN,
        find:
          'if (!isIntact(record, this.#input.segment)) return ' +
          'this.#judgeRecord(start, record);',
        replace: '',
      },
    ],
  },
  {
    name: 'damage-called-torn',
    title: 'damage of what was durable is taken for a torn tail and cut off',
    catalogue: 'D-5, D-12',
    edits: [
      {
        file: SCAN,
        find: "return this.#stop('damaged', 'record fails its checksum', later);",
        replace: "return this.#stop('torn', 'record fails its checksum', later);",
      },
    ],
  },
  {
    name: 'incarnation-reused',
    title: 'a restarted member calls itself by its former incarnation',
    catalogue: 'design §4',
    edits: [
      {
        file: 'packages/storage/src/data-directory.ts',
        find: '(contents) => ({ ...contents, incarnation: contents.incarnation + 1 }),',
        replace: '(contents) => ({ ...contents, incarnation: Math.max(contents.incarnation, 1) }),',
      },
    ],
  },
  {
    name: 'log-dropped-early',
    title: 'log entries go when they are applied, though the image does not hold them yet',
    catalogue: 'S-1, S-7',
    edits: [
      {
        file: 'packages/replica/src/log-compaction.ts',
        find: 'Math.min(position.index, log.lastIndex()',
        replace: 'Math.min(this.#raft.status().applied, log.lastIndex()',
      },
    ],
  },
  {
    name: 'group-keeps-first-state',
    title: 'of several hard states in one write the first one is kept',
    catalogue: 'B-15',
    edits: [
      {
        file: 'packages/storage/src/log-change.ts',
        find: 'hardState = task.hardState ?? hardState;',
        replace: 'hardState = hardState ?? task.hardState;',
      },
    ],
  },
  {
    name: 'tear-called-damage',
    title: 'a record that a power loss tore is taken for damage',
    catalogue: 'D-7',
    edits: [
      {
        file: 'packages/storage/src/wal/segment-scan.ts',
        find: "if (isTorn) return this.#stop('torn', 'a sector of the last record is missing');",
        replace:
          "if (isTorn) return this.#stop('damaged', 'a sector of the last record is missing');",
      },
    ],
  },
];
