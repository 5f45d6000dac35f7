import { describe, expect, it } from 'vitest';
import { checksum, decodeChunk, encodeChunk } from '../src/snapshot-chunk.ts';
import { type TestMember, World } from './test-world.ts';

/** Small bounds, so that a short run compacts its log. */
const tuning = {
  logEntriesMax: 50,
  logEntriesTrailing: 10,
  imageSyncMs: 200,
  snapshotChunkBytes: 512,
};

/** A cluster whose log has moved on while one follower was away. */
function lagging(options: { cutWhileAway?: boolean; imageFlushBytes?: number } = {}) {
  const { imageFlushBytes } = options;
  const flush = imageFlushBytes === undefined ? {} : { imageFlushBytes };
  const world = new World({ tuning: { ...tuning, ...flush } });
  const leader = world.elect();
  const late = world.followers()[0]!;
  late.write('early');
  world.time.until('it is applied', () => late.has('early'));
  if (options.cutWhileAway === true) world.isolate(late);
  else world.kill(late);
  let count = 0;
  world.time.until('the log is compacted', () => {
    leader.write(`w${count++}`);
    return leader.log.baseIndex > 100;
  });
  return { world, leader, late, count };
}

function caughtUp(world: World, late: TestMember, leader: TestMember): void {
  world.time.until('it caught up', () => {
    const { appliedIndex } = leader.replica.state;
    return late.replica.serving && late.replica.state.appliedIndex >= appliedIndex;
  });
  expect(late.replica.state.stateHash()).toBe(leader.replica.state.stateHash());
}

/** One round of call-backs at a time: a stream begins and ends without time passing. */
function stepUntilStream(world: World, late: TestMember): void {
  for (let i = 0; i < 100_000; i++) {
    if (late.marks.includes('snapshot receive begun')) return;
    world.time.step();
  }
  throw new Error('no stream begins');
}

describe('a member that lags behind the log', () => {
  it('gets the state streamed, verified and installed, and replicates on', () => {
    const { world, leader, late, count } = lagging();
    world.start(late);
    caughtUp(world, late, leader);
    expect(late.marks).toContain('snapshot installed');
    expect(late.has(`w${count - 1}`)).toBe(true);
    expect(late.disk.image).toBe('image-2');
    expect([...late.images.images.keys()]).toEqual(['image-2']);
    late.write('after');
    world.time.until('it writes', () => leader.has('after'));
    expect(late.outcome('after')).toBe('new after');
  });

  it('tells its doors that events were skipped and that outcomes are unknown', () => {
    const { world, leader, late } = lagging({ cutWhileAway: true });
    const before = late.replica.state.revision;
    late.write('in flight');
    world.rejoin(late);
    world.time.until('it installed', () => late.skipped.length === 1);
    expect(late.skipped[0]![0]).toBe(before);
    expect(late.skipped[0]![1]).toBeGreaterThan(before);
    caughtUp(world, late, leader);
    late.write('after');
    world.time.until('it writes again', () => late.has('after'));
  });

  it('takes the position from inside the state when batches were being written', () => {
    // Batches follow each other, and their ends are told late: the view that is streamed is newer
    // than the last batch whose end the sender has seen.
    const { world, leader, late } = lagging({ imageFlushBytes: 1 });
    const slow = { post: (callback: () => void) => void world.time.setTimer(3, callback) };
    Object.assign(leader.images, { scheduler: slow });
    world.start(late);
    let count = 0;
    world.time.until('it installed', () => {
      leader.write(`under load ${count++}`);
      return late.marks.includes('snapshot installed');
    });
    expect(late.marks.filter((mark) => mark === 'snapshot receive begun')).toHaveLength(1);
    caughtUp(world, late, leader);
  });

  it('opens again from the installed state', () => {
    const { world, leader, late } = lagging();
    world.start(late);
    caughtUp(world, late, leader);
    world.kill(late);
    world.start(late);
    caughtUp(world, late, leader);
    expect(late.marks.filter((mark) => mark === 'snapshot installed')).toHaveLength(1);
  });

  it('survives a crash at any moment of the installation', () => {
    const marks = new Set<string>();
    for (const steps of [0, 3, 9, 20, 30, 34, 35, 36, 37, 38, 39, 40, 41]) {
      const { world, leader, late } = lagging();
      world.start(late);
      stepUntilStream(world, late);
      for (let i = 0; i < steps; i++) world.time.step();
      world.kill(late);
      world.start(late);
      leader.write('go on');
      caughtUp(world, late, leader);
      for (const mark of late.marks) marks.add(mark);
    }
    // The window between the pointer to the new image and the log's restart was met.
    expect(marks).toContain('install finished at start');
  });

  it('starts over when the leader dies in the middle of the stream', () => {
    const { world, leader, late } = lagging();
    world.start(late);
    stepUntilStream(world, late);
    for (let i = 0; i < 5; i++) world.time.step();
    expect(late.marks).not.toContain('snapshot installed');
    world.kill(leader);
    world.time.until('another one leads', () => world.leader !== undefined);
    const next = world.elect();
    caughtUp(world, late, next);
    world.start(leader);
    caughtUp(world, leader, world.elect());
  });
});

describe('a member whose image is damaged', () => {
  it('sets it aside, fetches the state from the leader and serves only then', () => {
    const world = new World();
    const leader = world.elect();
    const victim = world.followers()[0]!;
    for (let i = 0; i < 20; i++) leader.write(`w${i}`);
    world.time.advance(500);
    world.kill(victim);
    const image = victim.images.images.get('image-1')!;
    const [key, value] = [...image.records].find(([name]) => name.length > 10)!;
    const damaged = Uint8Array.from(value);
    damaged[damaged.length - 1]! ^= 1;
    image.records.set(key, damaged);
    world.start(victim);
    expect(victim.marks).toContain('image set aside');
    expect(victim.replica.serving).toBe(false);
    expect(victim.replica.status().health).toBe('image is being replaced');
    caughtUp(world, victim, leader);
    expect(victim.replica.status().health).toBe('ok');
    expect([...victim.images.images.keys()].sort()).toEqual(['image-1-damaged', 'image-3']);
  });

  it('fetches the state as well when a crash came before an empty image was in force', () => {
    const world = new World();
    const leader = world.elect();
    const victim = world.followers()[0]!;
    for (let i = 0; i < 20; i++) leader.write(`w${i}`);
    world.time.advance(500);
    world.kill(victim);
    const { images } = victim.images;
    images.set('image-1-damaged', images.get('image-1')!);
    images.delete('image-1');
    world.start(victim);
    expect(victim.replica.serving).toBe(false);
    caughtUp(world, victim, leader);
    expect(victim.disk.image).toBe('image-3');
  });

  it('is elected for its log when nobody else has the newest entries, and hands over', () => {
    const world = new World();
    const leader = world.elect();
    const [victim, behind] = world.followers() as [TestMember, TestMember];
    for (let i = 0; i < 20; i++) leader.write(`w${i}`);
    world.time.advance(500);
    world.isolate(behind);
    leader.write('newest');
    world.time.until('it is committed', () => victim.has('newest'));
    world.kill(leader);
    world.kill(victim);
    const image = victim.images.images.get(victim.disk.image!)!;
    const [key, value] = [...image.records].find(([name]) => name.length > 10)!;
    image.records.set(key, value.subarray(1));
    world.rejoin(behind);
    world.start(victim);
    expect(victim.replica.status().health).toBe('image is being replaced');
    world.time.until('the other one leads', () => world.leader === behind);
    expect(victim.marks).toContain('campaign without an image');
    caughtUp(world, victim, behind);
    expect(victim.has('newest')).toBe(true);
    behind.write('after');
    world.time.until('writes go on', () => victim.has('after'));
  });

  it('refuses to start when there is no peer to ask', () => {
    const world = new World({ members: 1 });
    const only = world.elect();
    only.write('w');
    world.time.advance(500);
    world.kill(only);
    const image = only.images.images.get('image-1')!;
    for (const [key, value] of image.records) {
      if (key.length > 10) image.records.set(key, value.subarray(1));
    }
    expect(() => world.start(only)).toThrow(/image-1 cannot be used.*no peer to ask/);
  });
});

describe('a chunk of image records', () => {
  it('carries records there and back, and its checksum goes on over chunks', () => {
    const records = [
      { key: Uint8Array.of(1, 2), value: new Uint8Array(300) },
      { key: Uint8Array.of(3), value: new Uint8Array(0) },
    ];
    const bytes = encodeChunk(records);
    expect(decodeChunk(bytes).map(({ key, value }) => [[...key], value!.length])).toEqual([
      [[1, 2], 300],
      [[3], 0],
    ]);
    const both = Buffer.concat([bytes, bytes]);
    expect(checksum(bytes, checksum(bytes))).toBe(checksum(both));
  });
});
