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
  {
    name: 'watch-fires-twice',
    title: 'a one-shot watch stays when it has fired',
    catalogue: 'A-12',
    edits: [
      {
        file: 'packages/adapter-zookeeper/src/watches.ts',
        find: 'let group = union(data.takeAll(path), persistent.at(path));',
        replace: 'let group = union(data.at(path), persistent.at(path));',
      },
    ],
  },
  {
    name: 'watch-skips-on-catch-up',
    title: 'a watch that is set again is not told what happened meanwhile',
    catalogue: 'A-6, A-8',
    edits: [
      {
        file: 'packages/adapter-zookeeper/src/watch-restoration.ts',
        find: 'else if (node.mzxid > request.since)',
        replace: 'else if (node.mzxid < 0)',
      },
      {
        file: 'packages/adapter-zookeeper/src/watch-restoration.ts',
        find: 'else if (node.pzxid > request.since)',
        replace: 'else if (node.pzxid < 0)',
      },
    ],
  },
  {
    name: 'messages-skipped-on-install',
    title: 'subscribers stay connected when a snapshot skips messages',
    catalogue: 'design §8',
    edits: [
      {
        file: 'packages/adapter-redis/src/door.ts',
        find: 'if (session.blocked || lost.has(session)) session.destroy();',
        replace: 'if (session.blocked && lost.has(session)) session.destroy();',
      },
    ],
  },
  {
    name: 'script-time-from-own-clock',
    title: "TIME in a script is the member's own",
    catalogue: 'A-11, design §6',
    edits: [
      {
        file: 'packages/adapter-redis/src/commands/server.ts',
        find: 'return [String(seconds), String(Math.floor(wall - seconds * 1000) * 1000)];',
        replace: 'return [String(seconds), String(Math.floor(performance.now() * 1000))];',
      },
    ],
  },
  {
    name: 'publish-count-in-script',
    title: 'PUBLISH in a script answers with a count that each member keeps for itself',
    catalogue: 'A-11, design §8',
    edits: [
      {
        file: 'packages/adapter-redis/src/commands/pubsub.ts',
        find: 'writing(execution).emit(DOOR, event); return 0;',
        replace: 'writing(execution).emit(DOOR, event); return ++publishedHere;',
      },
      {
        file: 'packages/adapter-redis/src/commands/pubsub.ts',
        find: 'const NAME_BYTES_MAX = 4096;',
        replace: 'const NAME_BYTES_MAX = 4096; let publishedHere = 0;',
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
];
