import { describe, expect, it } from 'vitest';
import { testEntries } from '../src/log-driver.ts';
import { CrashWorld } from './crash-world.ts';

/** An open log with plenty of room, and the disk operations that follow. */
function openWorld(options = {}) {
  const world = new CrashWorld(1, {
    segmentBytes: 1 << 20,
    firstSegmentBytes: 1 << 20,
    ...options,
  });
  world.open();
  world.turns.advance(10);
  const operations: string[] = [];
  world.disk.before = ({ kind, path }) => {
    if (!path.endsWith('anchor')) operations.push(kind);
  };
  return { world, operations };
}

describe('group commit', () => {
  it('writes what arrives while a sync is in flight as one record with one sync', () => {
    const { world, operations } = openWorld();
    world.disk.delayMs = ({ kind }) => (kind === 'sync' ? 10 : 0);
    world.append({ entries: testEntries(1, 1, 1) });
    for (let index = 2; index <= 50; index++)
      world.append({ entries: testEntries(index, index, 1) });
    world.turns.advance(9);
    expect(world.acknowledged).toBe(0);
    world.turns.advance(1);
    expect(world.acknowledged).toBe(1);
    world.turns.advance(10);
    expect(world.acknowledged).toBe(50);
    expect(operations).toEqual(['write', 'sync', 'write', 'sync']);
  });

  it('splits what waits when it is too much for one record', () => {
    const { world, operations } = openWorld({ groupBytesMax: 10_000 });
    world.append({ entries: testEntries(1, 1, 1) });
    for (let index = 2; index <= 9; index++) {
      world.append({ entries: testEntries(index, index, 1, 4000) });
    }
    world.turns.advance(10);
    expect(world.acknowledged).toBe(9);
    expect(operations.filter((kind) => kind === 'sync').length).toBe(5);
  });

  it('never touches the disk for a commit hint alone', () => {
    const { world, operations } = openWorld();
    world.append({ entries: testEntries(1, 1, 1) });
    world.turns.advance(10);
    operations.length = 0;
    world.append({ hardState: { term: 1, vote: 0, commit: 1 }, mustSync: false });
    world.turns.advance(10);
    expect([world.acknowledged, operations]).toEqual([2, []]);
    world.append({ entries: testEntries(2, 2, 1) });
    world.turns.advance(10);
    expect(world.log!.initialState().hardState.commit).toBe(1);
  });

  it('acknowledges nothing while the disk hangs', () => {
    const { world } = openWorld();
    world.disk.delayMs = ({ kind }) => (kind === 'sync' ? Number.POSITIVE_INFINITY : 0);
    world.append({ entries: testEntries(1, 1, 1) });
    world.append({ hardState: { term: 1, vote: 0, commit: 0 }, mustSync: false });
    world.turns.advance(100_000);
    expect([world.acknowledged, world.log!.lastIndex()]).toEqual([0, 0]);
  });

  it('keeps the anchor at most about a second behind', () => {
    const { world } = openWorld();
    let anchors = 0;
    world.disk.before = ({ kind, path }) => {
      if (kind === 'write' && path.endsWith('anchor')) anchors += 1;
    };
    for (let index = 1; index <= 100; index++) {
      world.append({ entries: testEntries(index, index, 1) });
      world.turns.advance(50);
    }
    expect(anchors).toBe(5);
  });
});
