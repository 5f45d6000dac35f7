import { describe, expect, it } from 'vitest';
import { commandTable } from '../src/command-table.ts';
import { ReadQueue } from '../src/read-queue.ts';
import { ReadBatch, ReadSlot, type SlotOwner } from '../src/slot.ts';

const nobody = {} as SlotOwner;

function batchOf(...names: string[]): ReadBatch {
  const batch = new ReadBatch(nobody);
  for (const name of names) {
    const spec = commandTable.get(name)!;
    batch.slots.push(
      new ReadSlot({ spec, sizeBytes: 0, silent: false, tracked: false }, [name], 0),
    );
  }
  return batch;
}

describe('reads whose barrier was reached', () => {
  it('give way after each one that may take long, and keep their order over batches', () => {
    const posted: (() => void)[] = [];
    const answered: string[] = [];
    const owner = {
      closed: false,
      answerRead: (slot: ReadSlot) => void answered.push(slot.spec.name),
      readsAnswered: () => void answered.push('-'),
    };
    const queue = new ReadQueue(owner, { post: (callback) => void posted.push(callback) });
    const times = { clusterMs: 0, wallMs: 0 };
    queue.push(batchOf('get', 'eval_ro', 'get', 'keys', 'get'), times);
    queue.push(batchOf('exists'), times);
    expect(answered).toEqual(['get', 'eval_ro']);
    posted.shift()!();
    expect(answered).toEqual(['get', 'eval_ro', 'get', 'keys']);
    posted.shift()!();
    expect(answered).toEqual(['get', 'eval_ro', 'get', 'keys', 'get', 'exists', '-']);
    expect(posted).toEqual([]);
    queue.push(batchOf('get', 'eval_ro', 'get'), times);
    owner.closed = true;
    posted.shift()!();
    expect(answered.slice(7)).toEqual(['get', 'eval_ro', '-']);
  });
});
