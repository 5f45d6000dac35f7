import type { BinaryReader, BinaryWriter } from '@lockstep/model';
import { mark } from '@lockstep/model';
import type { Procedure } from '@lockstep/state-machine';
import { ETCD } from '../keyspace.ts';
import { type Failure, failure, ProcedureId } from './outcome.ts';

export interface CompactResult {
  readonly kind: 'compact';
}

/** `revision` is any int64 a client sent. */
export function writeCompact(writer: BinaryWriter, revision: number): void {
  writer.f64(revision);
}

export const compactProcedure: Procedure<number, CompactResult | Failure> = {
  id: ProcedureId.Compact,
  version: 1,
  name: 'etcd.compact',
  readOnly: false,
  decode: (reader: BinaryReader) => reader.f64(),
  run(tx, revision) {
    if (revision > tx.revision) return failure('FUTURE_REVISION');
    // A fresh store has compacted nothing, so that 0 is compacted already and 1 is not.
    if (revision <= tx.compactedRevision(ETCD)) {
      mark('compaction of what is compacted');
      return failure('COMPACTED');
    }
    tx.compact(ETCD, revision);
    return { kind: 'compact' };
  },
};
