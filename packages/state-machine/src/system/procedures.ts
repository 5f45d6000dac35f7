import {
  type BinaryReader,
  BinaryWriter,
  type Index,
  InvariantError,
  ProcedureFamily,
  type Revision,
  type Sequence,
  utf8Bytes,
  utf8Text,
  writeCommandHead,
} from '@lockstep/model';
import type { AnyProcedure, ClusterOption, Procedure, Transaction } from '../contract.ts';
import type { MachineTransaction } from '../transaction.ts';
import type { HashRing } from './hash-ring.ts';
import { helloProcedure } from './hello.ts';
import { MEMBERSHIP_PROCEDURES } from './membership.ts';
import { acceptsOption } from './option-range.ts';
import { decodeOptionValue, encodeOptionValue, type OptionValue } from './option-table.ts';
import { refoundProcedure } from './refound.ts';

const RELEASE_WAITER = ProcedureFamily.System + 2;
const SET_OPTION = ProcedureFamily.System + 3;
const RAISE_FEATURE_LEVEL = ProcedureFamily.System + 4;
const CHECK_HASH = ProcedureFamily.System + 5;
const ADVANCE_REVISION = ProcedureFamily.System + 9;

/** Takes a waiter back whose client is gone or tired; `request` is the sequence of the command
 * that queued it, in this very incarnation. */
export function encodeReleaseWaiter(request: Sequence): Uint8Array {
  return writeCommandHead(new BinaryWriter(16), RELEASE_WAITER, 1).varint(request).take();
}

/** Result: whether a waiter was taken out; false when it was served or timed out before. */
const releaseWaiter: Procedure<Sequence, boolean> = {
  id: RELEASE_WAITER,
  version: 1,
  name: 'system.release-waiter',
  readOnly: false,
  decode: (reader: BinaryReader) => reader.varint(),
  run(transaction: Transaction, request: Sequence): boolean {
    const tx = transaction as MachineTransaction;
    const { queues } = tx.store;
    const waiters = queues.ofRequest(tx.origin, tx.incarnation, request);
    for (const waiter of waiters) tx.removeWaiter(waiter.id);
    return waiters.length > 0;
  },
};

/** The proposer has looked at `acceptsOption`; it is looked at again at apply. */
export function encodeSetOption(name: string, value: OptionValue): Uint8Array {
  const writer = writeCommandHead(new BinaryWriter(64), SET_OPTION, 1);
  writer.bytes(utf8Bytes(name));
  encodeOptionValue(writer, value);
  return writer.take();
}

export type SetOptionOutcome = 'set' | 'unknown-option' | 'wrong-type' | 'out-of-range';

interface SetOption {
  readonly name: string;
  readonly value: OptionValue;
}

const setOption: Procedure<SetOption, SetOptionOutcome> = {
  id: SET_OPTION,
  version: 1,
  name: 'system.set-option',
  readOnly: false,
  decode: (reader: BinaryReader) => ({
    name: utf8Text(reader.bytes()),
    value: decodeOptionValue(reader),
  }),
  run(transaction: Transaction, { name, value }: SetOption): SetOptionOutcome {
    const tx = transaction as MachineTransaction;
    const option: ClusterOption | undefined = tx.registry.option(name);
    // What older members on record would answer, who do not know it.
    if (option === undefined || (option.since ?? 0) > tx.featureLevel) return 'unknown-option';
    if (typeof value !== typeof option.default) return 'wrong-type';
    if (!acceptsOption(option, value)) return 'out-of-range';
    tx.setOption(option, value);
    return 'set';
  },
};

export function encodeRaiseFeatureLevel(level: number): Uint8Array {
  return writeCommandHead(new BinaryWriter(16), RAISE_FEATURE_LEVEL, 1).varint(level).take();
}

/** Void (false) unless every member on record, learners too, said hello with that level. */
const raiseFeatureLevel: Procedure<number, boolean> = {
  id: RAISE_FEATURE_LEVEL,
  version: 1,
  name: 'system.raise-feature-level',
  readOnly: false,
  decode: (reader: BinaryReader) => reader.varint(),
  run(transaction: Transaction, level: number): boolean {
    const tx = transaction as MachineTransaction;
    const { meta } = tx.store;
    const before = meta.featureLevel;
    if (level <= before) return false;
    if (tx.members().some((member) => member.featureLevel < level)) return false;
    // The members on record allow it, but this process may be older than what they ran then.
    tx.store.checkFeatureLevel(level);
    meta.featureLevel = level;
    tx.undoWith(() => {
      meta.featureLevel = before;
    });
    return true;
  },
};

/** A majority's state hash after entry `index`, for all to compare (design §11). */
export function encodeCheckHash(index: Index, hash: string): Uint8Array {
  const writer = writeCommandHead(new BinaryWriter(48), CHECK_HASH, 1);
  return writer.varint(index).bytes(utf8Bytes(hash)).take();
}

interface CheckHash {
  readonly index: Index;
  readonly hash: string;
}

/**
 * Throws InvariantError on a member whose own hash at that index differs: it must stop.
 * A member that no longer or not yet knows its hash there compares nothing.
 */
function checkHash(ring: HashRing): Procedure<CheckHash, undefined> {
  return {
    id: CHECK_HASH,
    version: 1,
    name: 'system.check-hash',
    readOnly: false,
    decode: (reader: BinaryReader) => ({
      index: reader.varint(),
      hash: utf8Text(reader.bytes()),
    }),
    run(_tx: Transaction, { index, hash }: CheckHash): undefined {
      const own = ring.get(index);
      if (own === undefined || own === hash) return undefined;
      throw new InvariantError(`state hash at index ${index} is ${own}, the majority's is ${hash}`);
    },
  };
}

/** After a restore from backup: no revision and no token given out since the backup was made may
 * come again, so the counter jumps far ahead (design §5). */
export function encodeAdvanceRevision(to: Revision): Uint8Array {
  return writeCommandHead(new BinaryWriter(16), ADVANCE_REVISION, 1).varint(to).take();
}

/** Result: false when the counter is there already. */
const advanceRevision: Procedure<Revision, boolean> = {
  id: ADVANCE_REVISION,
  version: 1,
  name: 'system.advance-revision',
  readOnly: false,
  decode: (reader: BinaryReader) => reader.varint(),
  run(transaction: Transaction, to: Revision): boolean {
    if (to <= transaction.revision) return false;
    (transaction as MachineTransaction).jumpRevision(to);
    return true;
  },
};

/** The machine's own procedures; the ring is that of the machine they are made for. */
export function systemProcedures(ring: HashRing): AnyProcedure[] {
  return [
    helloProcedure,
    releaseWaiter,
    setOption,
    raiseFeatureLevel,
    checkHash(ring),
    advanceRevision,
    ...MEMBERSHIP_PROCEDURES,
    refoundProcedure,
  ];
}
