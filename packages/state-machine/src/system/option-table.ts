import {
  type BinaryReader,
  type BinaryWriter,
  type ByteString,
  fromByteString,
  InvariantError,
  toByteString,
  utf8Bytes,
  utf8Text,
} from '@lockstep/model';
import type { ClusterOption } from '../contract.ts';
import { SystemRow, Table } from '../image.ts';

export type OptionValue = number | string | boolean;

/** Options that the machine itself reads. Doors add theirs through their extensions. */
export const CORE_OPTIONS = {
  electionTimeoutMs: {
    name: 'election-timeout',
    default: 1000,
    doc: 'election timeout in ms as formed; member leases last three, reconnect grace two of it',
    min: 100,
    max: 60_000,
  },
  transactionSteps: {
    name: 'transaction-steps',
    default: 1_000_000,
    doc: 'steps one transaction may spend before it is undone',
    min: 1000,
    max: 1_000_000_000,
  },
  lockBarging: {
    name: 'lock-barging',
    default: 'when-idle',
    doc: 'whether SET NX may take a free lock that has a queue: no, when-idle (only without), yes',
    choices: ['no', 'when-idle', 'yes'],
  },
  preferredLeaders: {
    name: 'preferred-leaders',
    default: '',
    doc: 'names of members with commas between, most preferred as leader first; the rest is alike',
    since: 2,
  },
} as const satisfies Record<string, ClusterOption>;

/** The election timeout that seeds `CORE_OPTIONS.electionTimeoutMs`. */
export const ELECTION_TIMEOUT_OPTION: ClusterOption<number> = CORE_OPTIONS.electionTimeoutMs;
export const TRANSACTION_STEPS_OPTION: ClusterOption<number> = CORE_OPTIONS.transactionSteps;
export const LOCK_BARGING_OPTION: ClusterOption<string> = CORE_OPTIONS.lockBarging;

export const PREFERRED_LEADERS_OPTION: ClusterOption<string> = CORE_OPTIONS.preferredLeaders;

export class OptionRow extends SystemRow {
  readonly name: string;
  value: OptionValue;

  constructor(name: string, value: OptionValue) {
    super();
    this.name = name;
    this.value = value;
  }

  get table(): number {
    return Table.Options;
  }

  imageKey(): ByteString {
    return toByteString(utf8Bytes(this.name));
  }

  encode(writer: BinaryWriter): void {
    encodeOptionValue(writer, this.value);
  }
}

export function decodeOption(key: ByteString, reader: BinaryReader): OptionRow {
  return new OptionRow(utf8Text(fromByteString(key)), decodeOptionValue(reader));
}

/** A tag and the value, in rows and in commands. */
export function encodeOptionValue(writer: BinaryWriter, value: OptionValue): void {
  if (typeof value === 'number') writer.u8(0).f64(value);
  else if (typeof value === 'string') writer.u8(1).bytes(utf8Bytes(value));
  else writer.u8(value ? 3 : 2);
}

export function decodeOptionValue(reader: BinaryReader): OptionValue {
  const tag = reader.u8();
  if (tag === 0) return reader.f64();
  if (tag === 1) return utf8Text(reader.bytes());
  if (tag > 3) throw new InvariantError(`option value of kind ${tag} is unknown`);
  return tag === 3;
}
