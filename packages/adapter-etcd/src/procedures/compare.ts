import { compareBytes } from '@lockstep/model';
import type { StateReader } from '@lockstep/state-machine';
import { isEmptyRange, keyRange } from '../key-range.ts';
import { ETCD, type EtcdRecord, valueBytes, valueLeaseId } from '../keyspace.ts';
import { CompareResult, CompareTarget, type Comparison } from '../operation.ts';
import { bytesCost, COST, type Work } from './work.ts';

/** True when every key of the comparison satisfies it; an empty range counts as one absent key. */
export function holds(reader: StateReader, comparison: Comparison, work: Work): boolean {
  const range = keyRange(comparison.key, comparison.rangeEnd);
  const { operand } = comparison;
  // Comparing values takes as long as the operand at most.
  const cost = COST.visit + (operand instanceof Uint8Array ? bytesCost(operand.length) : 0);
  work.spend(COST.lookUp + cost);
  if (range.single) return satisfies(reader.get(ETCD, range.from), comparison);
  let seen = false;
  let all = true;
  if (!isEmptyRange(range)) {
    reader.range(ETCD, range.from, range.to, (_key, record) => {
      seen = true;
      work.spend(cost);
      all = satisfies(record, comparison);
      return all;
    });
  }
  return seen ? all : satisfies(undefined, comparison);
}

function satisfies(record: EtcdRecord | undefined, comparison: Comparison): boolean {
  // No operator holds for the value of a key that is not there, not even "not equal".
  if (comparison.target === CompareTarget.Value && record === undefined) return false;
  const order = orderOf(record, comparison);
  switch (comparison.result) {
    case CompareResult.Equal:
      return order === 0;
    case CompareResult.Greater:
      return order > 0;
    case CompareResult.Less:
      return order < 0;
    case CompareResult.NotEqual:
      return order !== 0;
    default:
      return true;
  }
}

function orderOf(record: EtcdRecord | undefined, { target, operand }: Comparison): number {
  switch (target) {
    case CompareTarget.Version:
      return (record?.version ?? 0) - (operand as number);
    case CompareTarget.Create:
      return (record?.createRevision ?? 0) - (operand as number);
    case CompareTarget.Mod:
      return (record?.modRevision ?? 0) - (operand as number);
    case CompareTarget.Value:
      return compareBytes(valueBytes(record!.value), operand as Uint8Array);
    case CompareTarget.Lease: {
      const leaseId = record === undefined ? 0n : valueLeaseId(record.value);
      return leaseId === operand ? 0 : leaseId < (operand as bigint) ? -1 : 1;
    }
    default:
      return 0;
  }
}
