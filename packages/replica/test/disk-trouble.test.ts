import { describe, expect, it } from 'vitest';
import { type TestMember, World } from './test-world.ts';

/** Writes through `member` until told to stop; what was acknowledged is kept. */
class Writer {
  readonly acknowledged: string[] = [];
  readonly #world: World;
  readonly #padding: string;
  #count = 0;

  constructor(world: World, bytes: number) {
    this.#world = world;
    this.#padding = 'x'.repeat(bytes);
  }

  /** One write; waits until its outcome is told. */
  write(member: TestMember): string {
    const text = `w${this.#count++} ${this.#padding}`;
    const before = member.answers.length;
    member.write(text);
    this.#world.time.until('an answer', () => member.answers.length > before, 20_000);
    const { outcome } = member.answers.at(-1)!;
    if (outcome.startsWith('new ')) this.acknowledged.push(text);
    return outcome;
  }

  expectKept(members: readonly TestMember[]): void {
    for (const member of members) {
      this.#world.time.until(`member ${member.id} has everything`, () =>
        this.acknowledged.every((text) => member.has(text)),
      );
      expect(member.fatal).toBe(undefined);
      expect(member.replica.status().health).toBe('ok');
    }
  }
}

describe('a full disk', () => {
  it('moves leadership away; the member goes on by itself when there is space again', () => {
    const world = new World({ wal: true });
    const leader = world.elect();
    const writer = new Writer(world, 1000);
    for (let i = 0; i < 5; i++) writer.write(leader);
    leader.files.capacityBytes = leader.files.usedBytes();
    const other = world.followers()[0]!;
    for (let i = 0; i < 80; i++) writer.write(other);
    expect(leader.marks).toContain('hand-over');
    expect(world.leader).not.toBe(leader);
    expect(leader.replica.status().health).toBe('out of space');
    const { lastIndex } = world.leader!.replica.status();
    const behind = () => world.leader!.replica.status().peers.find((p) => p.id === leader.id)!;
    expect(behind().match, 'it acknowledges nothing that it cannot hold').toBeLessThan(lastIndex);
    world.time.advance(10_000);
    expect(world.leader, 'nor does it lead again').not.toBe(leader);
    leader.files.capacityBytes = Number.POSITIVE_INFINITY;
    writer.expectKept(world.members);
    world.time.until('it acknowledges again', () => behind().match >= lastIndex);
    expect(writer.acknowledged.length).toBe(85);
  });

  it('stops the acknowledgements of a follower and nothing else', () => {
    const world = new World({ wal: true });
    const leader = world.elect();
    const full = world.followers()[0]!;
    const writer = new Writer(world, 1000);
    full.files.capacityBytes = full.files.usedBytes();
    const { term } = leader.replica.status();
    for (let i = 0; i < 80; i++) expect(writer.write(leader)).toMatch(/^new /);
    expect(full.replica.status().health).toBe('out of space');
    expect(leader.replica.status()).toMatchObject({ role: 'leader', term });
    full.files.capacityBytes = Number.POSITIVE_INFINITY;
    writer.expectKept(world.members);
  });

  it('of two members stops the writes, loses none, and they go on when one has space', () => {
    const world = new World({ wal: true, requestTimeoutMs: 3000 });
    const leader = world.elect();
    const writer = new Writer(world, 1000);
    const full = world.followers();
    for (const member of full) member.files.capacityBytes = member.files.usedBytes();
    const outcomes: string[] = [];
    for (let i = 0; i < 80 && outcomes.at(-1) !== 'UNKNOWN_OUTCOME'; i++) {
      outcomes.push(writer.write(leader).slice(0, 15));
    }
    expect(outcomes.at(-1)).toBe('UNKNOWN_OUTCOME');
    full[1]!.files.capacityBytes = Number.POSITIVE_INFINITY;
    world.elect();
    world.time.until('writes go on', () => writer.write(leader).startsWith('new '));
    writer.expectKept([leader, full[1]!]);
    full[0]!.files.capacityBytes = Number.POSITIVE_INFINITY;
    writer.expectKept(world.members);
  });
});

describe('a hung disk', () => {
  it('of the leader for one election timeout moves leadership away', () => {
    const world = new World({ wal: true });
    const leader = world.elect();
    const writer = new Writer(world, 100);
    writer.write(leader);
    const startMs = world.time.monotonicMs();
    leader.diskDelayMs = 8000;
    const other = world.followers()[0]!;
    other.write('under way');
    world.time.until('another one leads', () => world.leader !== leader, 3000);
    const tookMs = world.time.monotonicMs() - startMs;
    expect(tookMs).toBeGreaterThan(900);
    expect(tookMs).toBeLessThan(2000);
    leader.diskDelayMs = 0;
    for (let i = 0; i < 10; i++) expect(writer.write(other)).toMatch(/^new /);
    writer.expectKept(world.members);
    expect(leader.has('under way')).toBe(true);
  });

  it('of the leader for a shorter while changes nothing', () => {
    const world = new World({ wal: true });
    const leader = world.elect();
    const writer = new Writer(world, 100);
    for (let i = 0; i < 5; i++) {
      // A write and a sync, perhaps behind another one: six tenths of an election timeout.
      leader.diskDelayMs = 150;
      writer.write(leader);
      leader.diskDelayMs = 0;
      writer.write(leader);
    }
    expect(leader.marks).not.toContain('hand-over');
    expect(world.leader).toBe(leader);
    expect(writer.acknowledged.length).toBe(10);
  });

  it('of a follower stops its acknowledgements and nothing else', () => {
    const world = new World({ wal: true });
    const leader = world.elect();
    const hung = world.followers()[0]!;
    const writer = new Writer(world, 100);
    writer.write(leader);
    const { term } = leader.replica.status();
    const match = () => leader.replica.status().peers.find((p) => p.id === hung.id)!.match;
    world.time.advance(100);
    const before = match();
    hung.diskDelayMs = 20_000;
    for (let i = 0; i < 20; i++) expect(writer.write(leader)).toMatch(/^new /);
    world.time.advance(10_000);
    expect(match()).toBe(before);
    expect(leader.replica.status()).toMatchObject({ role: 'leader', term });
    expect(hung.replica.inContact, 'it still hears the leader').toBe(true);
    hung.diskDelayMs = 0;
    writer.expectKept(world.members);
    expect(leader.replica.status().term).toBe(term);
  });

  it('of two followers holds all writes back until one wakes', () => {
    const world = new World({ wal: true, requestTimeoutMs: 60_000 });
    const leader = world.elect();
    const writer = new Writer(world, 100);
    writer.write(leader);
    for (const member of world.followers()) member.diskDelayMs = 6000;
    leader.write('waits');
    world.time.advance(3000);
    expect(leader.outcome('waits')).toBe(undefined);
    for (const member of world.followers()) member.diskDelayMs = 0;
    world.time.until('it is told', () => leader.outcome('waits') !== undefined);
    expect(leader.outcome('waits')).toBe('new waits');
    writer.expectKept(world.members);
  });
});
