import {
  type BinaryReader,
  BinaryWriter,
  type CommandSession,
  copyBytes,
  equalBytes,
  invariant,
  LeaseKind,
  ProcedureFamily,
  writeCommandHead,
} from '@lockstep/model';
import type { Lease, Procedure, Transaction } from '@lockstep/state-machine';
import { DOOR, type SessionAttached } from '../events.ts';
import { pathOfNodeKey, ZOOKEEPER_KEYSPACE } from '../tree.ts';
import { type Requester, TreeChange } from '../tree-change.ts';

/** A session as its client names it; the timeout is already clamped by the door. */
export interface SessionArguments {
  readonly id: bigint;
  readonly timeoutMs: number;
  readonly password: Uint8Array;
}

/** The lease of the session as attached to this connection; undefined: refused. */
export type SessionResult = Lease | undefined;

function encodeSession(writer: BinaryWriter, session: SessionArguments): Uint8Array {
  writer.i64(session.id).u32(session.timeoutMs).bytes(session.password);
  return writer.copy();
}

const decodeSession = (reader: BinaryReader): SessionArguments => ({
  id: reader.i64(),
  timeoutMs: reader.u32(),
  password: reader.bytes(),
});

/** Opens a session; refused when the id is taken, then the door draws another. */
export const openSession: Procedure<SessionArguments, SessionResult> = {
  id: ProcedureFamily.ZooKeeper + 0,
  version: 1,
  name: 'zookeeper.openSession',
  readOnly: false,
  decode: decodeSession,
  run(tx, { id, timeoutMs, password }) {
    if (tx.leaseById(LeaseKind.ZooKeeper, id) !== undefined) return undefined;
    tx.takeRevision();
    return tx.grantLease(LeaseKind.ZooKeeper, id, timeoutMs, copyBytes(password));
  },
};

/** Attaches a living session to a new connection; refused when unknown or for a wrong password. */
export const attachSession: Procedure<SessionArguments, SessionResult> = {
  id: ProcedureFamily.ZooKeeper + 1,
  version: 1,
  name: 'zookeeper.attachSession',
  readOnly: false,
  decode: decodeSession,
  run(tx, { id, timeoutMs, password }) {
    const lease = tx.leaseById(LeaseKind.ZooKeeper, id);
    if (lease === undefined || !equalBytes(lease.payload, password)) return undefined;
    const attached = tx.attachLease(lease.handle, timeoutMs);
    const event: SessionAttached = {
      kind: 'attached',
      lease: attached.handle,
      epoch: attached.epoch,
    };
    tx.emit(DOOR, event);
    return attached;
  },
};

/** Ends the session of the command with its ephemeral nodes. */
export const closeSession: Procedure<undefined, undefined> = {
  id: ProcedureFamily.ZooKeeper + 2,
  version: 1,
  name: 'zookeeper.closeSession',
  readOnly: false,
  decode: () => undefined,
  run(tx) {
    invariant(tx.session !== undefined, 'closeSession came without a session');
    tx.revokeLease(tx.session.lease);
    return undefined;
  },
};

const NOBODY: Requester = { identities: () => [], lease: 0, sessionId: () => 0n };

/**
 * What hangs on a session goes with it, in the same transaction: each ephemeral node with its
 * parent's bookkeeping and its events. Takes a revision even when there is none.
 */
export function endSession(tx: Transaction, lease: Lease): void {
  const change = new TreeChange(tx, NOBODY);
  let removed = 0;
  for (const { keyspace, key } of tx.leaseKeys(lease.handle)) {
    const path = keyspace.id === ZOOKEEPER_KEYSPACE.id ? pathOfNodeKey(key) : undefined;
    invariant(path !== undefined, () => `${key} of ${keyspace.name} hangs on a session`);
    change.remove(path);
    removed++;
  }
  if (removed === 0) tx.takeRevision();
  change.commit();
}

// ---- commands -----------------------------------------------------------------------------

const scratch = new BinaryWriter(128);

export function openSessionCommand(session: SessionArguments): Uint8Array {
  return encodeSession(writeCommandHead(scratch, openSession.id, openSession.version), session);
}

export function attachSessionCommand(session: SessionArguments): Uint8Array {
  return encodeSession(writeCommandHead(scratch, attachSession.id, attachSession.version), session);
}

export function closeSessionCommand(session: CommandSession): Uint8Array {
  const { id, version } = closeSession;
  return writeCommandHead(scratch, id, version, 0, session).copy();
}
