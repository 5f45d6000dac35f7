import { describe, expect, it } from 'vitest';
import { type TestMember, World } from './test-world.ts';

const ELECTION_MS = 1000;

function stall(world: World, member: TestMember, ms: number): void {
  member.stalledUntilMs = world.time.monotonicMs() + ms;
  world.time.advance(ms);
}

describe('an event loop that stood still', () => {
  it('of a follower: the frames that came meanwhile are stepped first, and it does not campaign', () => {
    const world = new World();
    const leader = world.elect();
    const { term } = leader.replica.status();
    const follower = world.followers()[0]!;
    for (let i = 0; i < 5; i++) {
      stall(world, follower, 5 * ELECTION_MS);
      world.time.advance(10);
      expect(follower.replica.status()).toMatchObject({ role: 'follower', term });
      expect(leader.replica.status()).toMatchObject({ role: 'leader', term });
    }
    follower.write('w');
    world.time.until('it goes on', () => follower.outcome('w') !== undefined);
  });

  it('of a leader, once: it leads on when it was shorter than the timeout', () => {
    const world = new World();
    const leader = world.elect();
    const { term } = leader.replica.status();
    stall(world, leader, ELECTION_MS * 0.6);
    world.time.advance(5000);
    expect(leader.replica.status()).toMatchObject({ role: 'leader', term });
  });

  it('of a leader, again and again: it hands over before an election is needed', () => {
    const world = new World();
    const leader = world.elect();
    const { term } = leader.replica.status();
    for (let i = 0; i < 3; i++) {
      stall(world, leader, ELECTION_MS * 0.6);
      world.time.advance(500);
    }
    world.time.advance(500);
    expect(leader.marks).toContain('hand-over');
    const heir = world.elect();
    expect(heir).not.toBe(leader);
    expect(heir.replica.status().term).toBe(term + 1);
  });

  it('of all members, again and again: leadership does not go round for ever', () => {
    const world = new World();
    world.elect();
    for (let i = 0; i < 3; i++) {
      const untilMs = world.time.monotonicMs() + ELECTION_MS * 0.6;
      for (const member of world.members) member.stalledUntilMs = untilMs;
      world.time.advance(ELECTION_MS * 0.6 + 500);
    }
    world.time.advance(10 * ELECTION_MS);
    const { term } = world.elect().replica.status();
    world.time.advance(15 * ELECTION_MS);
    expect(world.elect().replica.status().term).toBe(term);
  });

  it('of a leader: cluster time does not jump, so that no lease ends early', () => {
    const world = new World();
    const leader = world.elect();
    leader.write('before');
    world.time.until('it is answered', () => leader.outcome('before') !== undefined);
    const before = leader.replica.state.time;
    stall(world, leader, ELECTION_MS * 0.9);
    leader.write('after');
    world.time.until('it is answered', () => leader.outcome('after') !== undefined);
    // At most one heartbeat interval counts for the whole stall.
    expect(leader.replica.state.time - before).toBeLessThan(ELECTION_MS / 2);
  });
});
