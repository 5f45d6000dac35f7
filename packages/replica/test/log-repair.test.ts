import { describe, expect, it } from 'vitest';
import { type TestMember, World, type WorldOptions } from './test-world.ts';

/** Nothing reaches the image by itself: what the log lost is lost to this member. */
const logOnly = { imageFlushMs: 1_000_000, imageFlushBytes: 1 << 30 };

function texts(first: number, last: number): string[] {
  const names: string[] = [];
  for (let i = first; i <= last; i++) names.push(`text-${String(i).padStart(4, '0')}`);
  return names;
}

/** A cluster in which every member holds every text in its log, one record each. */
function written(count: number, options: WorldOptions = {}): World {
  const world = new World({ wal: true, tuning: logOnly, ...options });
  world.elect();
  for (const text of texts(1, count)) {
    world.leader!.write(text);
    world.time.until(`${text} is everywhere`, () => world.members.every((m) => m.has(text)));
  }
  return world;
}

/** Flips a bit of the record that holds `text`. */
function damage(member: TestMember, text: string): void {
  for (const name of member.files.names.list('wal')) {
    const path = `wal/${name}`;
    const inode = member.files.names.file(path)!;
    const at = Buffer.from(inode.read(0, inode.size)).indexOf(text);
    if (at < 0) continue;
    member.files.flipBit(path, at + 2, 3);
    return;
  }
  throw new Error(`${text} is nowhere in the log of member ${member.id}`);
}

function stopAll(world: World): void {
  for (const member of world.members) world.kill(member);
}

function expectAll(world: World, members: readonly TestMember[], count: number): void {
  world.elect();
  members[0]!.write('afterwards');
  world.time.until('all go on', () => members.every((member) => member.has('afterwards')));
  for (const member of members) {
    for (const text of texts(1, count)) {
      expect(member.has(text), `${text} on member ${member.id}`).toBe(true);
    }
    expect(member.fatal).toBe(undefined);
    expect(member.replica.status().health).toBe('ok');
  }
}

describe('a log that is damaged in the middle', () => {
  it('is whole again with what others hold, its own later entries kept', () => {
    const world = written(30);
    const victim = world.followers()[0]!;
    world.kill(victim);
    damage(victim, 'text-0012');
    world.start(victim);
    expect(victim.replica.status().health).toBe(
      'log is being repaired: entries 15 to 15 are missing',
    );
    world.time.until('it is repaired', () => victim.replica.status().health === 'ok');
    expectAll(world, world.members, 30);
    expect(victim.skipped, 'no snapshot was needed').toEqual([]);
  });

  it('needs nobody when the image holds what was lost', () => {
    const world = written(20, { tuning: { imageFlushMs: 50 } });
    world.time.advance(500);
    const [victim, ...others] = world.followers();
    for (const member of others) world.kill(member);
    world.kill(world.leader!);
    world.kill(victim!);
    damage(victim!, 'text-0005');
    world.start(victim!);
    expect(victim!.replica.status().health).toBe('ok');
    expect(victim!.has('text-0005')).toBe(true);
  });

  it('is mended by two damaged members from each other while the third is gone', () => {
    const world = written(40);
    stopAll(world);
    damage(world.member(1), 'text-0010');
    damage(world.member(1), 'text-0025');
    damage(world.member(2), 'text-0011');
    damage(world.member(2), 'text-0030');
    world.start(world.member(1));
    world.start(world.member(2));
    expectAll(world, [world.member(1), world.member(2)], 40);
  });

  it('waits when both lost the same entry, and goes on when the third is back', () => {
    const world = written(20);
    stopAll(world);
    for (const id of [1, 2]) damage(world.member(id), 'text-0010');
    for (const id of [1, 2]) world.start(world.member(id));
    world.time.advance(20_000);
    expect(world.leader).toBe(undefined);
    for (const id of [1, 2]) {
      expect(world.member(id).fatal).toBe(undefined);
      expect(world.member(id).replica.status().health).toContain('13 to 13 are missing');
    }
    world.start(world.member(3));
    expectAll(world, world.members, 20);
  });

  it('stops and says why when every voter has lost the entry', () => {
    const world = written(20);
    stopAll(world);
    for (const member of world.members) damage(member, 'text-0010');
    for (const member of world.members) world.start(member);
    world.time.until('all have stopped', () => world.members.every((m) => m.fatal !== undefined));
    const { message } = world.member(1).fatal!;
    expect(message).toMatch(/^entries 13 to 13 of the log are lost: wal\/\d+\.wal is damaged at /);
    expect(message).toContain('member 2: its log is damaged too');
  });

  it('is replaced by the leader when nobody ever had the entry', () => {
    const world = written(10);
    const victim = world.leader!;
    world.isolate(victim);
    for (const text of ['alone-1', 'alone-2', 'alone-3']) {
      victim.write(text);
      world.time.advance(20);
    }
    world.kill(victim);
    damage(victim, 'alone-2');
    world.time.until('another leads', () => world.leader !== undefined);
    world.rejoin(victim);
    world.start(victim);
    expectAll(world, world.members, 10);
    expect(victim.has('alone-1')).toBe(false);
  });

  it('is left to the leader when that only has the state', () => {
    const tuning = { logEntriesMax: 30, logEntriesTrailing: 5, imageSyncMs: 100, imageFlushMs: 20 };
    const world = written(10, { tuning });
    const victim = world.followers()[0]!;
    world.kill(victim);
    damage(victim, 'text-0010');
    // Its image is lost as well: only then is the entry needed at all.
    victim.images.images.clear();
    for (const text of texts(11, 90)) {
      world.leader!.write(text);
      world.time.until(text, () => world.leader!.has(text));
    }
    world.time.advance(2000);
    world.start(victim);
    expectAll(world, world.members, 90);
  });

  it('survives a power loss at every storage call of the repair', () => {
    for (let call = 1; ; call++) {
      const world = written(16);
      const victim = world.followers()[0]!;
      world.kill(victim);
      damage(victim, 'text-0006');
      world.start(victim);
      const until = victim.files.operations + call;
      victim.files.before = ({ number }) => {
        if (number === until) world.powerLoss(victim);
      };
      world.time.advance(3000);
      victim.files.before = undefined;
      const crashed = !victim.life.alive;
      if (crashed) world.start(victim);
      expectAll(world, world.members, 16);
      if (!crashed || call > 60) break;
    }
  });
});

describe('a cluster of one member', () => {
  it('starts when the image holds what the log lost, and refuses otherwise', () => {
    const world = written(20, { members: 1, tuning: { imageFlushMs: 50 } });
    const only = world.member(1);
    world.time.advance(500);
    world.kill(only);
    damage(only, 'text-0007');
    world.start(only);
    expectAll(world, [only], 20);

    const other = written(20, { members: 1 });
    other.kill(other.member(1));
    damage(other.member(1), 'text-0007');
    expect(() => other.start(other.member(1))).toThrow(
      /^the log is damaged: wal\/00000001\.wal at offset \d+: record fails its checksum/,
    );
  });
});
