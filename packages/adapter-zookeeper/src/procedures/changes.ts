import {
  type BinaryReader,
  BinaryWriter,
  type ByteString,
  type CommandSession,
  invariant,
  mark,
  ProcedureFamily,
  writeCommandHead,
} from '@lockstep/model';
import type { Procedure, Transaction } from '@lockstep/state-machine';
import { decodeIdentities, type Identity } from '../acl.ts';
import { ErrorCode } from '../errors.ts';
import {
  decodeOperation,
  encodeOperation,
  failedResults,
  type OperationResult,
  type TreeOperation,
} from '../operations.ts';
import { findNode, NodeMode } from '../tree.ts';
import { type Requester, TreeChange } from '../tree-change.ts';

/** One operation, and the identities of the connection that asks for it. */
interface ChangeArguments {
  readonly identities: Uint8Array;
  readonly operation: TreeOperation;
}

interface MultiArguments {
  readonly identities: Uint8Array;
  readonly operations: readonly TreeOperation[];
}

function requesterOf(tx: Transaction, encoded: Uint8Array): Requester {
  const { session } = tx;
  invariant(session !== undefined, 'a change of the tree came without a session');
  let identities: readonly Identity[] | undefined;
  return {
    lease: session.lease,
    sessionId: () => tx.lease(session.lease)?.id ?? 0n,
    identities: () => {
      identities ??= decodeIdentities(encoded);
      return identities;
    },
  };
}

function changeProcedure(number: number, name: string): Procedure<ChangeArguments> {
  return {
    id: ProcedureFamily.ZooKeeper + number,
    version: 1,
    name: `zookeeper.${name}`,
    readOnly: false,
    decode: (reader) => ({ identities: reader.bytes(), operation: decodeOperation(reader) }),
    run(tx, { identities, operation }): OperationResult {
      const change = new TreeChange(tx, requesterOf(tx, identities));
      const result = change.apply(operation);
      if (result.error === ErrorCode.Ok) change.commit();
      return result;
    },
  };
}

const PROCEDURES = {
  create: changeProcedure(3, 'create'),
  delete: changeProcedure(4, 'delete'),
  setData: changeProcedure(5, 'setData'),
  setAcl: changeProcedure(6, 'setAcl'),
} as const;

/** All or nothing; the first failure decides. Its result is one OperationResult for each. */
export const multi: Procedure<MultiArguments, readonly OperationResult[]> = {
  id: ProcedureFamily.ZooKeeper + 7,
  version: 1,
  name: 'zookeeper.multi',
  readOnly: false,
  decode(reader) {
    const identities = reader.bytes();
    const operations: TreeOperation[] = [];
    for (let left = reader.varint(); left > 0; left--) operations.push(decodeOperation(reader));
    return { identities, operations };
  },
  run(tx, { identities, operations }) {
    const change = new TreeChange(tx, requesterOf(tx, identities));
    const results: OperationResult[] = [];
    for (const operation of operations) {
      const result = change.apply(operation);
      if (result.error !== ErrorCode.Ok) {
        mark('multi undone');
        return failedResults(operations.length, results.length, result.error);
      }
      results.push(result);
    }
    change.commit();
    return results;
  },
};

/** Removes a container or TTL node if, at its place in the log, its time has come. */
export const reap: Procedure<ByteString, boolean> = {
  id: ProcedureFamily.ZooKeeper + 8,
  version: 1,
  name: 'zookeeper.reap',
  readOnly: false,
  decode: (reader: BinaryReader) => reader.byteString(),
  run(tx, path) {
    const node = findNode(tx, path);
    if (node === undefined || node.children > 0) return false;
    const emptied = node.mode === NodeMode.Container && node.creates !== 0;
    const outlived = node.mode === NodeMode.Ttl && tx.time - node.modifiedAt > node.ttlMs;
    if (!emptied && !outlived) return false;
    const change = new TreeChange(tx, { identities: () => [], lease: 0, sessionId: () => 0n });
    change.remove(path);
    change.commit();
    return true;
  },
};

export const CHANGE_PROCEDURES = [...Object.values(PROCEDURES), multi, reap];

// ---- commands -----------------------------------------------------------------------------

const scratch = new BinaryWriter(4096);

/** `identities` as `encodeIdentities` made them. The caller owns the result. */
export function changeCommand(
  session: CommandSession,
  identities: Uint8Array,
  operation: Exclude<TreeOperation, { kind: 'check' }>,
): Uint8Array {
  const { id, version } = PROCEDURES[operation.kind];
  writeCommandHead(scratch, id, version, 0, session).bytes(identities);
  encodeOperation(scratch, operation);
  return scratch.copy();
}

export function multiCommand(
  session: CommandSession,
  identities: Uint8Array,
  operations: readonly TreeOperation[],
): Uint8Array {
  writeCommandHead(scratch, multi.id, multi.version, 0, session).bytes(identities);
  scratch.varint(operations.length);
  for (const operation of operations) encodeOperation(scratch, operation);
  return scratch.copy();
}

export function reapCommand(path: ByteString): Uint8Array {
  return writeCommandHead(scratch, reap.id, reap.version).byteString(path).copy();
}
