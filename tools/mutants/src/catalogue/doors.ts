import type { Mutant } from '../mutant.ts';

const INSTALL = 'packages/replica/src/snapshot-install.ts';

/** Events, former versions and the procedures of the doors (catalogue ). */
export const DOORS: readonly Mutant[] = [
  {
    name: 'watch-skips-on-install',
    title: 'subscribers are not told that a snapshot skipped events',
    catalogue: 'A-6, A-7',
    edits: [
      {
        file: INSTALL,
        find: 'loop.subscribers.skipped(former.machine.revision, machine.revision);',
        replace: '',
      },
    ],
  },
  {
    name: 'former-value-from-image-only',
    title: 'a former value is read past the batch that is not written yet',
    catalogue: 'design §12',
    edits: [
      {
        file: 'packages/replica/src/image-writer.ts',
        find: 'if (this.#gathered.has(key)) return this.#gathered.get(key);',
        replace: '',
      },
    ],
  },
  {
    name: 'insertion-order-visible',
    title: 'what hangs on a lease goes in the order in which it came to memory',
    catalogue: 'design §2 (c)',
    edits: [
      {
        file: 'packages/state-machine/src/lease/lease-table.ts',
        find: '[...this.#slots].sort(compareSlots);',
        replace: '[...this.#slots];',
      },
    ],
  },
  {
    name: 'sequence-number-reused',
    title: 'the number of a sequential node is that of its living siblings',
    catalogue: 'zookeeper sequence',
    edits: [
      {
        file: 'packages/adapter-zookeeper/src/tree-change.ts',
        find: 'sequenceSuffix(parent.creates)',
        replace: 'sequenceSuffix(parent.children)',
      },
    ],
  },
  {
    name: 'ephemeral-outlives-session',
    title: 'an ephemeral node does not hang on its session',
    catalogue: 'A-13',
    edits: [
      {
        file: 'packages/adapter-zookeeper/src/tree-change.ts',
        find: 'const hangs = reborn && node.mode === NodeMode.Ephemeral;',
        replace: 'const hangs = reborn && node.mode === NodeMode.Ephemeral && data === null;',
      },
    ],
  },
];
