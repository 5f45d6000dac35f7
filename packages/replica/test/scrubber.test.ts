import { describe, expect, it } from 'vitest';
import { type TestMember, World } from './test-world.ts';

const tuning = {
  scrubBytesPerSecond: 1024 * 1024,
  scrubIntervalMs: 500,
  imageSyncMs: 200,
};

function written(options: { wal?: boolean; members?: number; scrub?: object } = {}): World {
  const { wal = true, members = 3, scrub = {} } = options;
  const world = new World({ wal, members, tuning: { ...tuning, ...scrub } });
  const leader = world.elect();
  for (let i = 0; i < 40; i++) {
    leader.write(`w${i} ${'x'.repeat(500)}`);
    world.time.advance(5);
  }
  world.time.advance(300);
  return world;
}

function damageSealed(member: TestMember): string {
  const [first] = member.files.names.list('wal').filter((name) => name.endsWith('.wal'));
  member.files.flipBit(`wal/${first}`, 4096 + 900, 2);
  return first!;
}

function damageImage(member: TestMember): void {
  const [image] = [...member.images.images.values()];
  const [key, value] = [...image!.records].find(([name]) => name.length > 100)!;
  const damaged = Uint8Array.from(value);
  damaged[damaged.length - 1]! ^= 1;
  image!.records.set(key, damaged);
}

const scrubOf = (member: TestMember) => member.replica.status().scrub!;

describe('scrubbing', () => {
  it('finds nothing where nothing is wrong, at no more than its rate', () => {
    const world = written({ scrub: { scrubBytesPerSecond: 20_000 } });
    const before = world.members.map((member) => scrubOf(member).bytes);
    world.time.advance(10_000);
    world.members.forEach((member, i) => {
      const { bytes, damages, rounds } = scrubOf(member);
      expect(damages).toBe(0);
      expect(rounds).toBeGreaterThan(0);
      expect(bytes - before[i]!).toBeLessThan(10 * 20_000 + 2 * 128 * 1024);
      expect(bytes).toBeGreaterThan(20_000);
      expect(member.replica.status().health).toBe('ok');
    });
  });

  it('of the log: a damaged segment goes, and a restart finds nothing to repair', () => {
    const world = written();
    for (const victim of [world.leader!, world.followers()[0]!]) {
      const name = damageSealed(victim);
      world.time.until('it is found', () => scrubOf(victim).damages === 1);
      world.time.until('it is gone', () => !victim.files.names.list('wal').includes(name));
      expect(victim.fatal).toBe(undefined);
      world.kill(victim);
      world.start(victim);
      expect(victim.replica.status().health).toBe('ok');
      world.elect();
    }
  });

  it('of the image: a follower fetches it anew, a leader hands over before', () => {
    const world = written();
    const { leader } = world;
    const follower = world.followers()[0]!;
    for (const victim of [follower, leader!]) {
      damageImage(victim);
      world.time.until('it is found', () => scrubOf(victim).damages === 1);
      world.time.until('another image is in force', () =>
        victim.marks.includes('snapshot installed'),
      );
      expect(world.leader).not.toBe(victim);
      world.time.until('it is well again', () => victim.replica.status().health === 'ok');
      expect(victim.marks).toContain('scrubbing found damage in the image');
      world.kill(victim);
      world.start(victim);
      expect(victim.marks).not.toContain('image set aside');
      world.elect();
    }
    const hashes = () => new Set(world.members.map((m) => m.replica.state.stateHash()));
    world.time.until('states are equal', () => hashes().size === 1);
  });

  it('of the image of a single member: it goes on and says so', () => {
    const world = written({ members: 1 });
    const only = world.member(1);
    damageImage(only);
    world.time.until('it is found', () => scrubOf(only).damages > 0);
    expect(only.replica.status().health).toMatch(/^damaged image: image row of table/);
    only.write('goes on');
    world.time.until('it does', () => only.has('goes on'));
  });
});
