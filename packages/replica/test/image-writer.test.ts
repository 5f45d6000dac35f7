import type { Done, ImageStore } from '@lockstep/model';
import { describe, expect, it } from 'vitest';
import { ImageWriter } from '../src/image-writer.ts';
import { VirtualTime } from './virtual-time.ts';

/** A store whose writes end when the test says so. */
function slowStore() {
  const writes: Done[] = [];
  const store = {
    write: (_changes: unknown, _sync: boolean, done: Done) => void writes.push(done),
  } as unknown as ImageStore;
  return { store, writes };
}

const configuration = {
  voters: [1],
  votersOutgoing: [],
  learners: [],
  learnersNext: [],
  autoLeave: false,
};

function writerOf(store: ImageStore, said: string[]): ImageWriter {
  return new ImageWriter(store, {
    clock: new VirtualTime(),
    flushMs: 100,
    flushBytes: 1000,
    syncMs: 1000,
    syncBytes: 1000,
    written: () => said.push('written'),
    failed: () => said.push('failed'),
  });
}

describe('the image writer', () => {
  it('lets a drain end when the member stops in the middle of a write', () => {
    const { store } = slowStore();
    const said: string[] = [];
    const writer = writerOf(store, said);
    writer.set('key', Uint8Array.of(1));
    writer.entryDone({ index: 1, term: 1, configuration });
    writer.drain(() => said.push('drained'));
    writer.close();
    expect(said).toEqual(['drained']);
  });

  it('lets a drain end when another image takes over in the middle of a write', () => {
    const { store, writes } = slowStore();
    const said: string[] = [];
    const writer = writerOf(store, said);
    writer.set('key', Uint8Array.of(1));
    writer.entryDone({ index: 1, term: 1, configuration });
    writer.drain(() => said.push('drained'));
    writer.retire(() => said.push('given up'));
    expect(said).toEqual([]);
    writes[0]!(undefined);
    expect(said).toEqual(['given up', 'drained']);
  });
});
