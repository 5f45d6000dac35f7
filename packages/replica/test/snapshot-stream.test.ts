import { decodeFrame } from '@lockstep/transport';
import { describe, expect, it } from 'vitest';
import { type TestMember, World } from './test-world.ts';

const tuning = {
  logEntriesMax: 50,
  logEntriesTrailing: 10,
  imageSyncMs: 200,
  snapshotChunkBytes: 512,
};

/** A follower that needs the state, and a leader that has it in many chunks. */
function lagging(wal = false) {
  const world = new World({ tuning, wal });
  const leader = world.elect();
  const late = world.followers()[0]!;
  world.kill(late);
  // More than the log keeps, with time for the image to be synced in between.
  for (let i = 0; i < 60; i++) {
    for (let j = 0; j < 3; j++) leader.write(`w${3 * i + j}`);
    world.time.advance(20);
  }
  return { world, leader, late };
}

/** Sees each bulk frame of a member; what it returns is sent, nothing when undefined. */
function tapBulk(
  member: TestMember,
  tap: (kind: string, frame: Uint8Array) => Uint8Array | undefined,
): void {
  const network = member.network!;
  const send = network.send.bind(network);
  network.send = (to, frame, channel) => {
    if (channel !== 'bulk') return send(to, frame, channel);
    const passed = tap(decodeFrame(frame)[0]!.kind, frame);
    return passed === undefined ? true : send(to, passed, channel);
  };
}

function caughtUp(world: World, late: TestMember): void {
  const { leader } = world;
  world.time.until('it caught up', () => {
    const { appliedIndex } = leader!.replica.state;
    return late.replica.serving && late.replica.state.appliedIndex >= appliedIndex;
  });
  expect(late.replica.state.stateHash()).toBe(leader!.replica.state.stateHash());
  expect(late.fatal).toBe(undefined);
}

describe('a broken stream of the state', () => {
  /** Counts what is sent; loses or damages what the test says. */
  function stream(
    change: (kind: string, nth: number, frame: Uint8Array) => Uint8Array | undefined,
  ) {
    const made = lagging();
    const sent = new Map<string, number>();
    tapBulk(made.leader, (kind, frame) => {
      const nth = (sent.get(kind) ?? 0) + 1;
      sent.set(kind, nth);
      return change(kind, nth, frame);
    });
    made.world.start(made.late);
    return { ...made, sent };
  }

  it('goes on behind the last chunk that arrived when some frames are lost', () => {
    const whole = stream((_kind, _nth, frame) => frame);
    caughtUp(whole.world, whole.late);
    const chunks = whole.sent.get('snapshot-chunk')!;
    expect(chunks).toBeGreaterThan(12);

    const lossy = stream((kind, nth, frame) =>
      kind === 'snapshot-chunk' && nth >= 6 && nth < 9 ? undefined : frame,
    );
    caughtUp(lossy.world, lossy.late);
    expect(lossy.sent.get('snapshot-begin')).toBe(1);
    expect(lossy.sent.get('snapshot-chunk')).toBeLessThanOrEqual(chunks + 4);
    expect(lossy.late.marks.filter((mark) => mark === 'snapshot receive begun')).toHaveLength(1);
  });

  it('goes on when begin or end is lost, or a chunk is damaged on its way', () => {
    for (const lost of ['snapshot-begin', 'snapshot-end']) {
      const { world, late, sent } = stream((kind, nth, frame) =>
        kind === lost && nth === 1 ? undefined : frame,
      );
      caughtUp(world, late);
      expect(sent.get(lost), lost).toBe(2);
    }
    const { world, late, sent } = stream((kind, nth, frame) => {
      if (kind !== 'snapshot-chunk' || nth !== 4) return frame;
      const damaged = Uint8Array.from(frame);
      damaged[damaged.length - 9]! ^= 4;
      return damaged;
    });
    caughtUp(world, late);
    expect(sent.get('snapshot-begin')).toBe(1);
  });

  it('goes on when the link was cut in the middle', () => {
    const { world, leader, late, sent } = stream((_kind, _nth, frame) => frame);
    world.time.until('some chunks are there', () => {
      if ((sent.get('snapshot-chunk') ?? 0) >= 6) return true;
      world.time.step();
      return false;
    });
    world.hub.cut(leader.id, late.id);
    world.time.advance(500);
    world.hub.heal(leader.id, late.id);
    caughtUp(world, late);
    expect(sent.get('snapshot-begin')).toBe(1);
  });

  it('begins anew when the receiver has forgotten it', () => {
    const { world, late, sent } = stream((_kind, _nth, frame) => frame);
    world.time.until('some chunks are there', () => (sent.get('snapshot-chunk') ?? 0) >= 6);
    world.kill(late);
    world.start(late);
    caughtUp(world, late);
  });
});

describe('receiving and installing the state', () => {
  it('survives a power loss at every storage call', { timeout: 120_000 }, () => {
    const marks = new Set<string>();
    let calls = 0;
    for (let call = 1; ; call++) {
      const { world, late } = lagging(true);
      world.start(late);
      let left = call;
      const step = () => {
        if (--left === 0) world.powerLoss(late);
      };
      late.files.before = step;
      late.images.before = step;
      // And a while beyond the installation: the log restarts, the former image goes.
      let steps = 4000;
      while (late.life.alive && steps-- > 0) {
        world.time.step();
        if (isDone(late)) steps = Math.min(steps, 200);
      }
      late.files.before = undefined;
      late.images.before = undefined;
      const crashed = !late.life.alive;
      if (crashed) world.start(late);
      world.leader!.write(`after ${call}`);
      caughtUp(world, late);
      for (const mark of late.marks) marks.add(mark);
      calls = call;
      if (!crashed) break;
    }
    expect(marks).toContain('install finished at start');
    expect(calls).toBeGreaterThan(30);
  });
});

function isDone(late: TestMember): boolean {
  return late.marks.includes('snapshot installed') && late.replica.serving;
}
