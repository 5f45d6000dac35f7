import {
  type BinaryReader,
  BinaryWriter,
  LeaseKind,
  type MemberId,
  ProcedureFamily,
  type Revision,
  utf8Bytes,
  utf8Text,
  writeCommandHead,
} from '@lockstep/model';
import type { Procedure, Transaction } from '../contract.ts';
import type { MachineTransaction } from '../transaction.ts';
import { setMember } from './hello.ts';
import { endIncarnation } from './incarnation.ts';

const REFOUND = ProcedureFamily.System + 32;

/**
 * What the lost majority may have given out without this member's knowledge is less than this: the
 * revision goes ahead by it, so that no revision and no token comes again (design §5). A safe
 * integer has room for two million recoveries.
 */
export const REFOUND_REVISIONS = 2 ** 32;

export interface Refound {
  /** The survivor: the only member of the new cluster, with a vote. */
  readonly member: MemberId;
  readonly clusterId: bigint;
  /** Where later members reach it; '' keeps what is on record. */
  readonly peerAddress: string;
}

/**
 * Makes the state that of a new cluster of one member, after a majority was lost for ever. Never
 * proposed: `lockstep recover` applies it to a stopped member's state, outside of any log.
 */
export function encodeRefound({ member, clusterId, peerAddress }: Refound): Uint8Array {
  const writer = writeCommandHead(new BinaryWriter(64), REFOUND, 1).varint(member).i64(clusterId);
  return writer.bytes(utf8Bytes(peerAddress)).take();
}

/** Result: the revision from which the new cluster goes on; 0 when the member is not on record. */
export const refoundProcedure: Procedure<Refound, Revision> = {
  id: REFOUND,
  version: 1,
  name: 'system.refound',
  offline: true,
  readOnly: false,
  decode: (reader: BinaryReader) => ({
    member: reader.varint(),
    clusterId: BigInt.asUintN(64, reader.i64()),
    peerAddress: utf8Text(reader.bytes()),
  }),
  run(transaction: Transaction, { member, clusterId, peerAddress }: Refound): Revision {
    const tx = transaction as MachineTransaction;
    const { members, meta } = tx.store;
    const own = members.get(member);
    if (own === undefined) return 0;
    const others = [...members.keys()].filter((id) => id !== member).sort((a, b) => a - b);
    for (const id of others) forget(tx, id);
    const { record } = own;
    const moved = peerAddress === '' ? record : { ...record, peerAddress };
    setMember(tx, own, { ...moved, learner: false });
    const former = meta.clusterId;
    meta.clusterId = clusterId;
    tx.undoWith(() => {
      meta.clusterId = former;
    });
    const revision = meta.revision + REFOUND_REVISIONS;
    tx.jumpRevision(revision);
    return revision;
  },
};

/** No tombstone: to the new cluster that member never was, and another cluster id keeps it out. */
function forget(tx: MachineTransaction, member: MemberId): void {
  const { members, leases } = tx.store;
  const row = members.get(member)!;
  const lease = leases.byId(LeaseKind.Member, BigInt(member));
  if (lease !== undefined) tx.endLease(lease, 'revoked');
  endIncarnation(tx, member);
  members.delete(member);
  row.removed = true;
  tx.touchRow(row);
  tx.undoWith(() => {
    row.removed = false;
    members.set(member, row);
  });
}
