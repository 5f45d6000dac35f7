import {
  type BinaryReader,
  BinaryWriter,
  EMPTY_BYTES,
  type Incarnation,
  LeaseKind,
  type MemberId,
  ProcedureFamily,
  utf8Bytes,
  utf8Text,
  writeCommandHead,
} from '@lockstep/model';
import type { Procedure, Transaction } from '../contract.ts';
import type { MachineTransaction } from '../transaction.ts';
import { openIncarnation } from './incarnation.ts';
import { decodeAddresses, encodeAddresses, type MemberRow } from './member-table.ts';
import { ELECTION_TIMEOUT_OPTION } from './option-table.ts';

export const HELLO = ProcedureFamily.System + 1;

/** First command of an incarnation: who it is and what it can do. */
export interface Hello {
  readonly member: MemberId;
  readonly incarnation: Incarnation;
  /** Name to publish; '' keeps the one on record. */
  readonly name: string;
  readonly version: string;
  readonly featureLevel: number;
  /** UUID of the data directory; the first hello binds it to the member. */
  readonly dataDirectory: string;
  /** Published client addresses by door. */
  readonly addresses: Readonly<Record<string, string>>;
}

/**
 * `old`: not higher than the incarnation on record. `unknown-member`: removed, or never added.
 * `other-directory`: the member is bound to another data directory. `too-old`: the software does
 * not support the cluster's feature level. Nothing but `accepted` changes the state.
 */
export type HelloOutcome = 'accepted' | 'old' | 'unknown-member' | 'other-directory' | 'too-old';

/** Command bytes; number it 1 in the new incarnation's first run, or let the leader make it. */
export function encodeHello(hello: Hello): Uint8Array {
  const writer = writeCommandHead(new BinaryWriter(256), HELLO, 1);
  writer.varint(hello.member).varint(hello.incarnation).bytes(utf8Bytes(hello.name));
  writer.bytes(utf8Bytes(hello.version)).varint(hello.featureLevel);
  writer.bytes(utf8Bytes(hello.dataDirectory));
  encodeAddresses(writer, hello.addresses);
  return writer.take();
}

export const helloProcedure: Procedure<Hello, HelloOutcome> = {
  id: HELLO,
  version: 1,
  name: 'system.hello',
  readOnly: false,
  decode(reader: BinaryReader): Hello {
    return {
      member: reader.varint(),
      incarnation: reader.varint(),
      name: utf8Text(reader.bytes()),
      version: utf8Text(reader.bytes()),
      featureLevel: reader.varint(),
      dataDirectory: utf8Text(reader.bytes()),
      addresses: decodeAddresses(reader),
    };
  },
  run(tx: Transaction, hello: Hello): HelloOutcome {
    return runHello(tx as MachineTransaction, hello);
  },
};

function runHello(tx: MachineTransaction, hello: Hello): HelloOutcome {
  const { store } = tx;
  const row = store.members.get(hello.member);
  if (row === undefined) return 'unknown-member';
  const { record } = row;
  if (hello.incarnation <= record.incarnation) return 'old';
  if (record.dataDirectory !== '' && record.dataDirectory !== hello.dataDirectory) {
    return 'other-directory';
  }
  if (hello.featureLevel < store.meta.featureLevel) return 'too-old';
  openIncarnation(tx, hello.member, hello.incarnation);
  const { name, version, featureLevel, dataDirectory, addresses, incarnation } = hello;
  setMember(tx, row, {
    ...record,
    name: name === '' ? record.name : name,
    version,
    featureLevel,
    dataDirectory,
    addresses,
    incarnation,
  });
  const id = BigInt(hello.member);
  const former = store.leases.byId(LeaseKind.Member, id);
  if (former !== undefined) tx.endLease(former, 'revoked');
  tx.grantLease(LeaseKind.Member, id, 3 * tx.option(ELECTION_TIMEOUT_OPTION), EMPTY_BYTES);
  return 'accepted';
}

/** Replaces a member's record. */
export function setMember(
  tx: MachineTransaction,
  row: MemberRow,
  record: MemberRow['record'],
): void {
  const before = row.record;
  row.record = record;
  tx.touchRow(row);
  tx.undoWith(() => {
    row.record = before;
  });
}
