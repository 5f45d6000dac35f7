import {
  type BinaryReader,
  BinaryWriter,
  type ByteString,
  type CommandSession,
  copyBytes,
  encodeCommand,
  equalBytes,
  fromByteString,
  LeaseKind,
  toByteString,
  utf8Bytes,
  utf8Text,
} from '@lockstep/model';
import {
  type AnyProcedure,
  acquireLock,
  cancelLockWaiters,
  type Extension,
  extendLock,
  type KeyspaceDefinition,
  type Procedure,
  releaseLock,
  type Transaction,
  type ValueCodec,
  type WaiterKind,
} from '../src/index.ts';

/**
 * A small door: `store` keeps history as etcd does, `plain` holds locks as Redis does. Its
 * commands are lists of steps, so that a test can put anything into one transaction.
 */

const bytesCodec: ValueCodec<Uint8Array> = {
  encode: (writer, value) => void writer.bytes(value),
  decode: (reader) => copyBytes(reader.bytes()),
  sizeBytes: (value) => value.length,
};

export const STORE: KeyspaceDefinition<Uint8Array> = {
  id: 16,
  name: 'store',
  history: true,
  ordered: true,
  codec: bytesCodec,
};

export const PLAIN: KeyspaceDefinition<Uint8Array> = {
  id: 17,
  name: 'plain',
  history: false,
  ordered: false,
  codec: bytesCodec,
  changesOwner: (before, after) => !equalBytes(before, after),
  lock: {
    ownerOf: (value) => (value[0] === 0 ? undefined : toByteString(value)),
    valueOf: (owner) => fromByteString(owner),
  },
};

export const TREE: KeyspaceDefinition<Uint8Array> = {
  id: 18,
  name: 'tree',
  history: false,
  ordered: true,
  codec: bytesCodec,
};

export const SPACES = { store: STORE, plain: PLAIN, tree: TREE };
export type SpaceName = keyof typeof SPACES;

/** One step of a toy command. Times are durations from the entry's time. */
export type Step =
  | { do: 'put'; in: SpaceName; key: string; value: string; lease?: number; px?: number }
  | { do: 'touch'; in: SpaceName; key: string; px: number }
  | { do: 'delete'; in: SpaceName; key: string }
  | { do: 'delete-range'; in: SpaceName; from: string; to: string }
  | { do: 'clear'; in: SpaceName }
  | { do: 'compact'; at: number }
  | { do: 'grant'; kind: LeaseKind; id: number; ttl: number }
  | { do: 'revoke' | 'attach' | 'renew'; kind: LeaseKind; id: number }
  | { do: 'acquire'; name: string; owner: string; px: number; wait?: number; lease?: number }
  | { do: 'release' | 'cancel'; name: string; owner: string }
  | { do: 'extend'; name: string; owner: string; px: number }
  | { do: 'pop'; key: string; wait: number }
  | { do: 'fence'; resource: string; token: number }
  | { do: 'unfence'; resource: string }
  | { do: 'say'; text: string }
  | { do: 'spend'; steps: number };

function steps(reader: BinaryReader): Step[] {
  return JSON.parse(utf8Text(reader.bytes())) as Step[];
}

function runStep(tx: Transaction, step: Step): unknown {
  switch (step.do) {
    case 'put': {
      const record = tx.put(SPACES[step.in], step.key, utf8Bytes(step.value), {
        ...(step.lease === undefined ? {} : { lease: step.lease }),
        ...(step.px === undefined ? {} : { deadline: tx.time + step.px }),
      });
      return record.token;
    }
    case 'touch': {
      const present = tx.get(SPACES[step.in], step.key);
      if (present === undefined) return false;
      const deadline = tx.time + step.px;
      tx.put(SPACES[step.in], step.key, present.value, { deadline, touch: false });
      return true;
    }
    case 'delete':
      return tx.delete(SPACES[step.in], step.key) !== undefined;
    case 'delete-range':
      return tx.deleteRange(SPACES[step.in], step.from, step.to);
    case 'clear':
      return tx.clear(SPACES[step.in]);
    case 'compact':
      if (step.at <= tx.compactedRevision(STORE) || step.at > tx.revision) return 'refused';
      return tx.compact(STORE, step.at);
    case 'grant': {
      const id = BigInt(step.id);
      if (tx.leaseById(step.kind, id) !== undefined) return 'exists';
      return tx.grantLease(step.kind, id, step.ttl, utf8Bytes('secret')).handle;
    }
    case 'revoke':
    case 'renew':
    case 'attach': {
      const lease = tx.leaseById(step.kind, BigInt(step.id));
      if (lease === undefined) return 'unknown';
      if (step.do === 'attach') return tx.attachLease(lease.handle).epoch;
      return step.do === 'revoke' ? tx.revokeLease(lease.handle) : tx.renewLease(lease.handle);
    }
    case 'acquire': {
      const { name, owner, px, lease = 0, wait } = step;
      const outcome = acquireLock(tx, PLAIN, name, {
        owner,
        ttlMs: px,
        lease,
        meta: utf8Bytes(`by ${owner}`),
        ...(wait === undefined
          ? {}
          : { wait: { deadline: wait === 0 ? 0 : tx.time + wait, queueMax: 100 } }),
      });
      return outcome.kind === 'granted' ? outcome.token : outcome.kind;
    }
    case 'release':
      return releaseLock(tx, PLAIN, step.name, step.owner).kind;
    case 'cancel':
      return cancelLockWaiters(tx, PLAIN, step.name, step.owner);
    case 'extend':
      return extendLock(tx, PLAIN, step.name, step.owner, step.px);
    case 'pop': {
      const popped = pop(tx, step.key);
      if (popped !== undefined) return popped;
      const deadline = step.wait === 0 ? 0 : tx.time + step.wait;
      return tx.enqueueWaiter('pop', TREE, [step.key], deadline, new Uint8Array(0)).id;
    }
    case 'fence':
      return tx.raiseFence(step.resource, step.token);
    case 'unfence':
      return tx.removeFence(step.resource);
    case 'say':
      return tx.emit('toy', step.text);
    case 'spend':
      return tx.spend(step.steps);
  }
}

function pop(tx: Transaction, key: ByteString): string | undefined {
  const record = tx.delete(TREE, key);
  return record === undefined ? undefined : utf8Text(record.value);
}

const POP: WaiterKind = { name: 'pop', serve: (tx, waiter) => pop(tx, waiter.keys[0]!) };

const perform: Procedure<Step[], unknown[]> = {
  id: 0x0f00,
  version: 1,
  name: 'toy.perform',
  readOnly: false,
  decode: steps,
  run: (tx, list) => list.map((step) => runStep(tx, step)),
};

/** Reads a key; and, wrongly for a reader, writes when asked to. */
const read: Procedure<Step[], string | undefined> = {
  id: 0x0f01,
  version: 1,
  name: 'toy.read',
  readOnly: true,
  decode: steps,
  run(tx, [step]) {
    if (step?.do === 'put') return String(runStep(tx, step));
    if (step?.do !== 'delete') return undefined;
    const record = tx.get(SPACES[step.in], step.key);
    return record === undefined ? undefined : utf8Text(record.value);
  },
};

export const TOY: Extension = {
  name: 'toy',
  keyspaces: [STORE, PLAIN, TREE],
  procedures: [perform, read] as AnyProcedure[],
  waiters: [POP],
  options: [{ name: 'toy-limit', default: 10, doc: 'a number of this test' }],
  leaseEnded: new Map([
    [
      LeaseKind.ZooKeeper,
      (tx, lease) => {
        tx.takeRevision();
        for (const { keyspace, key } of tx.leaseKeys(lease.handle)) tx.delete(keyspace, key);
      },
    ],
  ]),
};

function toyCommand(procedure: number, list: readonly Step[], session?: CommandSession) {
  const args = new BinaryWriter().bytes(utf8Bytes(JSON.stringify(list))).take();
  const head = { procedure, version: 1, principal: 0, args };
  return encodeCommand(session === undefined ? head : { ...head, session });
}

/** A command that performs the steps in one transaction; the result is the list of results. */
export function command(...list: readonly Step[]): Uint8Array {
  return toyCommand(0x0f00, list);
}

export function sessionCommand(session: CommandSession, ...list: readonly Step[]): Uint8Array {
  return toyCommand(0x0f00, list, session);
}

/** A read-only command: named by the delete of the key to read. */
export function readCommand(step: Step): Uint8Array {
  return toyCommand(0x0f01, [step]);
}
