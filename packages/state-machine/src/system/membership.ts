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
import type { Procedure, Transaction } from '../contract.ts';
import type { MachineTransaction } from '../transaction.ts';
import { setMember } from './hello.ts';
import { endIncarnation } from './incarnation.ts';
import { MemberRow, newMember } from './member-table.ts';

const ADD_MEMBER = ProcedureFamily.System + 6;
const UPDATE_MEMBER = ProcedureFamily.System + 7;
const REMOVE_MEMBER = ProcedureFamily.System + 8;

/** A member to be added; its id comes from the replicated counter and is the result. */
export interface AddMember {
  /** '' until its first hello. */
  readonly name: string;
  readonly etcdId: bigint;
  readonly peerAddress: string;
  readonly learner: boolean;
}

export function encodeAddMember(member: AddMember): Uint8Array {
  const writer = writeCommandHead(new BinaryWriter(128), ADD_MEMBER, 1);
  writer.bytes(utf8Bytes(member.name)).i64(member.etcdId);
  return writer
    .bytes(utf8Bytes(member.peerAddress))
    .u8(member.learner ? 1 : 0)
    .take();
}

export const addMemberProcedure: Procedure<AddMember, MemberId> = {
  id: ADD_MEMBER,
  version: 1,
  name: 'system.add-member',
  readOnly: false,
  decode(reader: BinaryReader): AddMember {
    return {
      name: utf8Text(reader.bytes()),
      etcdId: BigInt.asUintN(64, reader.i64()),
      peerAddress: utf8Text(reader.bytes()),
      learner: reader.u8() === 1,
    };
  },
  run(transaction: Transaction, add: AddMember): MemberId {
    const tx = transaction as MachineTransaction;
    const { meta, members } = tx.store;
    const id = ++meta.lastMember;
    const { name, etcdId, peerAddress, learner } = add;
    const row = new MemberRow(newMember(id, name, etcdId, peerAddress, learner));
    members.set(id, row);
    tx.touchRow(row);
    tx.undoWith(() => {
      members.delete(id);
      meta.lastMember--;
    });
    return id;
  },
};

/** New peer address or role; what is left out stays. */
export interface UpdateMember {
  readonly member: MemberId;
  readonly peerAddress?: string;
  readonly learner?: boolean;
}

const KEEP = 2;

export function encodeUpdateMember(update: UpdateMember): Uint8Array {
  const writer = writeCommandHead(new BinaryWriter(128), UPDATE_MEMBER, 1);
  const { member, peerAddress, learner } = update;
  writer.varint(member).u8(learner === undefined ? KEEP : learner ? 1 : 0);
  return writer.bytes(utf8Bytes(peerAddress ?? '')).take();
}

/** Result: false when the member is unknown. */
export const updateMemberProcedure: Procedure<UpdateMember, boolean> = {
  id: UPDATE_MEMBER,
  version: 1,
  name: 'system.update-member',
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
  run(transaction: Transaction, update: UpdateMember): boolean {
    const tx = transaction as MachineTransaction;
    const row = tx.store.members.get(update.member);
    if (row === undefined) return false;
    const { peerAddress, learner } = row.record;
    setMember(tx, row, {
      ...row.record,
      peerAddress: update.peerAddress ?? peerAddress,
      learner: update.learner ?? learner,
    });
    return true;
  },
};

export function encodeRemoveMember(member: MemberId): Uint8Array {
  return writeCommandHead(new BinaryWriter(16), REMOVE_MEMBER, 1).varint(member).take();
}

/** Ends the member's incarnation and forgets it. Result: false when it is unknown. */
export const removeMemberProcedure: Procedure<MemberId, boolean> = {
  id: REMOVE_MEMBER,
  version: 1,
  name: 'system.remove-member',
  readOnly: false,
  decode(reader: BinaryReader): MemberId {
    return reader.varint();
  },
  run(transaction: Transaction, member: MemberId): boolean {
    const tx = transaction as MachineTransaction;
    const { members, leases } = tx.store;
    const row = members.get(member);
    if (row === undefined) return false;
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
    return true;
  },
};
