import { describe, expect, it } from 'vitest';
import { type TestMember, World } from './test-world.ts';

const tuning = {
  logEntriesMax: 60,
  logEntriesTrailing: 15,
  imageSyncMs: 300,
  snapshotChunkBytes: 700,
  hashCheckEntries: 20,
};

interface Told {
  readonly text: string;
  readonly origin: number;
}

/** Random kills, restarts, cuts and heals under writes and barriers from every member. */
class Havoc {
  readonly world: World;
  readonly written: Told[] = [];
  /** Texts that some client was told to be applied, in the order told. */
  readonly acknowledged: string[] = [];
  readonly failed: string[] = [];
  readonly staleReads: string[] = [];
  #count = 0;

  constructor(seed: number, wal: boolean) {
    this.world = new World({ seed, tuning, requestTimeoutMs: 4000, wal });
  }

  pick(below: number): number {
    return this.world.random.u32() % below;
  }

  act(): void {
    const { world } = this;
    const member = world.members[this.pick(3)]!;
    const other = world.members[this.pick(3)]!;
    switch (this.pick(40)) {
      case 0:
        // A majority stays, so that the run gets somewhere.
        if (!world.members.every((m) => m.life.alive)) break;
        if (this.pick(2) === 0) world.kill(member);
        else world.powerLoss(member);
        break;
      case 1:
      case 2:
        for (const m of world.members) if (!m.life.alive) world.start(m);
        break;
      case 3:
        if (member !== other) world.hub.cut(member.id, other.id);
        break;
      case 4:
      case 5:
        if (member !== other) world.hub.heal(member.id, other.id);
        break;
      case 7:
        member.diskDelayMs = this.pick(2) * this.pick(40);
        break;
      case 8:
        // Long enough for clients to be told that no answer came.
        if (this.pick(4) === 0) world.time.advance(2500);
        break;
      case 6:
        if (member.life.alive) member.replica.transferLeadership(undefined, () => {});
        break;
      default:
        if (!member.life.alive) break;
        if (this.pick(3) === 0) this.#read(member);
        else this.#write(member);
    }
    for (let i = this.pick(8); i > 0; i--) world.time.step();
    if (this.pick(3) === 0) world.time.advance(this.pick(60));
  }

  #write(member: TestMember): void {
    const text = `m${member.id}-${String(this.#count++).padStart(5, '0')}`;
    this.written.push({ text, origin: member.id });
    const before = member.answers.length;
    member.write(text);
    expect(member.answers.length).toBe(before);
  }

  #read(member: TestMember): void {
    const seen = this.settle();
    const { life } = member;
    member.replica.barrier({
      reached: () => {
        if (!life.alive) return;
        for (const text of seen) if (!member.has(text)) this.staleReads.push(text);
      },
      failed: () => {},
    });
  }

  /** Everything acknowledged so far. */
  settle(): string[] {
    for (const member of this.world.members) {
      for (const { text, outcome } of member.answers.splice(0)) {
        if (outcome.startsWith('new ')) this.acknowledged.push(text);
        else if (outcome !== 'UNKNOWN_OUTCOME') this.failed.push(text);
      }
    }
    return [...this.acknowledged];
  }

  finish(): void {
    const { world } = this;
    for (const a of world.ids) for (const b of world.ids) if (a < b) world.hub.heal(a, b);
    for (const member of world.members) {
      member.diskDelayMs = 0;
      if (!member.life.alive) world.start(member);
    }
    world.time.advance(8000);
    world.elect();
    for (const member of world.members) member.write(`end-${member.id}`);
    world.time.until('all have everything', () =>
      world.members.every((m) => world.ids.every((id) => m.has(`end-${id}`))),
    );
    this.settle();
  }
}

function wreak(seed: number, actions: number, wal: boolean): Havoc {
  const havoc = new Havoc(seed, wal);
  havoc.world.elect();
  for (let i = 0; i < actions; i++) havoc.act();
  havoc.finish();
  return havoc;
}

function check(havoc: Havoc): void {
  const { world } = havoc;
  for (const member of world.members) {
    expect(member.fatal, `member ${member.id} stopped`).toBe(undefined);
    expect(new Set(member.journal).size).toBe(member.journal.length);
    for (const { id } of world.members) {
      const mine = member.journal.filter((text) => text.startsWith(`m${id}-`));
      expect(mine).toEqual([...mine].sort());
    }
    for (const text of havoc.acknowledged) expect(member.has(text), `${text} is kept`).toBe(true);
    for (const text of havoc.failed) expect(member.has(text), `${text} failed`).toBe(false);
  }
  expect(havoc.staleReads).toEqual([]);
  expect(new Set(world.members.map((m) => m.replica.state.stateHash())).size).toBe(1);
  expect(havoc.acknowledged.length).toBeGreaterThan(10);
}

describe('a cluster under random faults', () => {
  const seeds = Number(process.env.REPLICA_SEEDS ?? 10);
  const first = Number(process.env.REPLICA_SEED ?? 1);
  for (let seed = first; seed < first + seeds; seed++) {
    it(`loses nothing, repeats nothing, reads nothing stale (seed ${seed})`, () => {
      check(wreak(seed, 300, false));
    });
    it(`does so with the real log on a disk that tears what was not synced (seed ${seed})`, () => {
      check(wreak(seed, 300, true));
    });
  }
});
