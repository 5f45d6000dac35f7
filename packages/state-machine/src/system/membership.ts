import {
  type BinaryReader,
  BinaryWriter,
  LeaseKind,
  type MemberId,
  ProcedureFamily,
  utf8Bytes,
  utf8Text,
  writeCommandHead,
} from '@lockstep/model';
import type { AnyProcedure, Procedure, Transaction } from '../contract.ts';
import type { MachineTransaction } from '../transaction.ts';
import { setMember } from './hello.ts';
import { endIncarnation } from './incarnation.ts';
import { MemberRow, newMember } from './member-table.ts';
import {
  addRefusal,
  type MembershipRefusal,
  removeRefusal,
  updateRefusal,
} from './membership-rules.ts';
import { REMOVED_MEMBERS_MAX, RemovedRow } from './removed-table.ts';

const ADD_MEMBER = ProcedureFamily.System + 6;
const UPDATE_MEMBER = ProcedureFamily.System + 7;
const REMOVE_MEMBER = ProcedureFamily.System + 8;

/** Version 1 changed the records unconditionally. Nobody could write it but a removal, which must
 * still be possible while an older member holds an upgrade back. */
const VERSION = 2;
/** Feature level of version 2, tombstones and joint configurations. */
export const MEMBERSHIP_LEVEL = 2;

/** What became of a change; every member decides it alike at its place in the log. */
export type MembershipOutcome =
  | { readonly kind: 'changed'; readonly member: MemberId }
  | { readonly kind: 'refused'; readonly reason: MembershipRefusal };

const refused = (reason: MembershipRefusal): MembershipOutcome => ({ kind: 'refused', reason });
const changed = (member: MemberId): MembershipOutcome => ({ kind: 'changed', member });

/** A member to be added; its id comes from the replicated counter and is in the outcome. */
export interface AddMember {
  /** '' until its first hello. */
  readonly name: string;
  readonly etcdId: bigint;
  readonly peerAddress: string;
  readonly learner: boolean;
}

export function encodeAddMember(member: AddMember): Uint8Array {
  const writer = writeCommandHead(new BinaryWriter(128), ADD_MEMBER, VERSION);
  writer.bytes(utf8Bytes(member.name)).i64(member.etcdId);
  return writer
    .bytes(utf8Bytes(member.peerAddress))
    .u8(member.learner ? 1 : 0)
    .take();
}

const addMember: Procedure<AddMember, MembershipOutcome> = {
  id: ADD_MEMBER,
  version: VERSION,
  name: 'system.add-member',
  since: MEMBERSHIP_LEVEL,
  readOnly: false,
  decode(reader: BinaryReader): AddMember {
    return {
      name: utf8Text(reader.bytes()),
      etcdId: BigInt.asUintN(64, reader.i64()),
      peerAddress: utf8Text(reader.bytes()),
      learner: reader.u8() === 1,
    };
  },
  run(transaction: Transaction, add: AddMember): MembershipOutcome {
    const tx = transaction as MachineTransaction;
    const { meta, members } = tx.store;
    const refusal = addRefusal(tx.members(), add);
    if (refusal !== undefined) return refused(refusal);
    const id = ++meta.lastMember;
    const { name, etcdId, peerAddress, learner } = add;
    const row = new MemberRow(newMember(id, name, etcdId, peerAddress, learner));
    members.set(id, row);
    tx.touchRow(row);
    tx.undoWith(() => {
      members.delete(id);
      meta.lastMember--;
    });
    return changed(id);
  },
};

/** New peer address or role; what is left out stays. */
export interface UpdateMember {
  readonly member: MemberId;
  readonly peerAddress?: string;
  /** False promotes a learner: the proposer has seen that it is caught up, which no log tells. */
  readonly learner?: boolean;
}

const KEEP = 2;

export function encodeUpdateMember(update: UpdateMember): Uint8Array {
  const writer = writeCommandHead(new BinaryWriter(128), UPDATE_MEMBER, VERSION);
  const { member, peerAddress, learner } = update;
  writer.varint(member).u8(learner === undefined ? KEEP : learner ? 1 : 0);
  return writer.bytes(utf8Bytes(peerAddress ?? '')).take();
}

const updateMember: Procedure<UpdateMember, MembershipOutcome> = {
  id: UPDATE_MEMBER,
  version: VERSION,
  name: 'system.update-member',
  since: MEMBERSHIP_LEVEL,
  readOnly: false,
  decode(reader: BinaryReader): UpdateMember {
    const member = reader.varint();
    const role = reader.u8();
    const peerAddress = utf8Text(reader.bytes());
    return {
      member,
      ...(role === KEEP ? {} : { learner: role === 1 }),
      ...(peerAddress === '' ? {} : { peerAddress }),
    };
  },
  run(transaction: Transaction, update: UpdateMember): MembershipOutcome {
    const tx = transaction as MachineTransaction;
    const refusal = updateRefusal(tx.members(), update);
    if (refusal !== undefined) return refused(refusal);
    const { member, ...changes } = update;
    const row = tx.store.members.get(member)!;
    setMember(tx, row, { ...row.record, ...changes });
    return changed(member);
  },
};

/** In the version that a cluster of that feature level knows. */
export function encodeRemoveMember(member: MemberId, level = MEMBERSHIP_LEVEL): Uint8Array {
  const version = level < MEMBERSHIP_LEVEL ? 1 : VERSION;
  return writeCommandHead(new BinaryWriter(16), REMOVE_MEMBER, version).varint(member).take();
}

/** Ends the member's incarnation and leaves a tombstone. */
const removeMember: Procedure<MemberId, MembershipOutcome> = {
  id: REMOVE_MEMBER,
  version: VERSION,
  name: 'system.remove-member',
  since: MEMBERSHIP_LEVEL,
  readOnly: false,
  decode: (reader: BinaryReader) => reader.varint(),
  run(transaction: Transaction, member: MemberId): MembershipOutcome {
    const tx = transaction as MachineTransaction;
    const refusal = removeRefusal(tx.members(), member);
    if (refusal !== undefined) return refused(refusal);
    const row = tx.store.members.get(member)!;
    forget(tx, row);
    bury(tx, row);
    return changed(member);
  },
};

/** Forgets a member, whatever that does to the cluster. */
const removeMember1: Procedure<MemberId, MembershipOutcome> = {
  id: REMOVE_MEMBER,
  version: 1,
  name: 'system.remove-member',
  readOnly: false,
  decode: (reader: BinaryReader) => reader.varint(),
  run(transaction: Transaction, member: MemberId): MembershipOutcome {
    const tx = transaction as MachineTransaction;
    const row = tx.store.members.get(member);
    if (row === undefined) return refused('unknown-member');
    forget(tx, row);
    return changed(member);
  },
};

function forget(tx: MachineTransaction, row: MemberRow): void {
  const { members, leases } = tx.store;
  const { id } = row;
  const lease = leases.byId(LeaseKind.Member, BigInt(id));
  if (lease !== undefined) tx.endLease(lease, 'revoked');
  endIncarnation(tx, id);
  members.delete(id);
  row.removed = true;
  tx.touchRow(row);
  tx.undoWith(() => {
    row.removed = false;
    members.set(id, row);
  });
}

/** The tombstone; the oldest of too many goes. */
function bury(tx: MachineTransaction, { record }: MemberRow): void {
  const { removed } = tx.store;
  const { id, name, etcdId, peerAddress, dataDirectory } = record;
  const tombstone = new RemovedRow({ id, name, etcdId, peerAddress, dataDirectory });
  removed.set(id, tombstone);
  tx.touchRow(tombstone);
  tx.undoWith(() => void removed.delete(id));
  if (removed.size <= REMOVED_MEMBERS_MAX) return;
  const oldest = removed.get(Math.min(...removed.keys()))!;
  removed.delete(oldest.id);
  oldest.removed = true;
  tx.touchRow(oldest);
  tx.undoWith(() => {
    oldest.removed = false;
    removed.set(oldest.id, oldest);
  });
}

export const MEMBERSHIP_PROCEDURES: readonly AnyProcedure[] = [
  addMember,
  updateMember,
  removeMember1,
  removeMember,
];
