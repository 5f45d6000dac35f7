import { LeaseKind } from '@lockstep/model';
import { ELECTION_TIMEOUT_OPTION, encodeSetOption } from '@lockstep/state-machine';
import { describe, expect, it } from 'vitest';
import { journalCommand } from './journal-extension.ts';
import { World } from './test-world.ts';

describe('a cluster of three', () => {
  it('applies the commands of every member once, in its order, in one order everywhere', () => {
    const world = new World();
    world.elect();
    for (let i = 0; i < 50; i++) {
      for (const member of world.members) member.write(`m${member.id}-${i}`);
      if (i % 7 === 0) world.time.advance(1);
    }
    world.time.until('all are applied everywhere', () =>
      world.members.every((member) => member.journal.length === 150),
    );
    const [one, two, three] = world.members;
    expect(two!.journal).toEqual(one!.journal);
    expect(three!.journal).toEqual(one!.journal);
    for (const member of world.members) {
      const mine = one!.journal.filter((text) => text.startsWith(`m${member.id}-`));
      expect(mine).toEqual(Array.from({ length: 50 }, (_, i) => `m${member.id}-${i}`));
      expect(member.answers).toEqual(mine.map((text) => ({ text, outcome: `new ${text}` })));
    }
    const hashes = world.members.map((member) => member.replica.state.stateHash());
    expect(new Set(hashes).size).toBe(1);
  });

  it('has the cluster options of its first leader, whatever the others were started with', () => {
    const formation = (id: number) => [encodeSetOption('election-timeout', 1000 + id)];
    const world = new World({ formation });
    const leader = world.elect();
    leader.write('w');
    world.time.until('it is everywhere', () => world.members.every((member) => member.has('w')));
    const { state } = leader.replica;
    expect(state.option(ELECTION_TIMEOUT_OPTION)).toBe(1000 + leader.id);
    for (const { replica } of world.members) {
      expect(replica.state.stateHash()).toBe(state.stateHash());
    }
    world.kill(leader);
    const next = world.elect();
    expect(next.replica.state.option(ELECTION_TIMEOUT_OPTION)).toBe(1000 + leader.id);
  });

  it('elects another leader when the leader dies, within two election timeouts', () => {
    const world = new World();
    const first = world.elect();
    first.write('before');
    world.time.until('it is applied', () => world.members.every((m) => m.has('before')));
    world.kill(first);
    const diedMs = world.time.monotonicMs();
    const second = world.elect();
    expect(second).not.toBe(first);
    second.write('after');
    world.time.until('the next command is applied', () => second.has('after'));
    expect(world.time.monotonicMs() - diedMs).toBeLessThan(2000);
    expect(second.has('before')).toBe(true);
  });

  it('keeps the order of a member over a change of leader, each command once', () => {
    for (let seed = 1; seed <= 10; seed++) {
      const world = new World({ seed });
      const leader = world.elect();
      const origin = world.followers()[0]!;
      let count = 0;
      const writeSome = () => {
        for (let i = 0; i < 5; i++) origin.write(`c${String(count++).padStart(4, '0')}`);
      };
      for (let i = 0; i < 20; i++) {
        writeSome();
        world.time.advance(i % 3);
      }
      writeSome();
      world.kill(leader);
      for (let i = 0; i < 20; i++) {
        writeSome();
        world.time.advance(40);
      }
      world.time.until('all are answered', () => origin.answers.length === count);
      expect(new Set(origin.answers.map(({ outcome }) => outcome.slice(0, 4)))).toEqual(
        new Set(['new ']),
      );
      expect(origin.journal).toEqual([...origin.journal].sort());
      expect(new Set(origin.journal).size).toBe(count);
      world.start(leader);
      world.time.until('the old leader caught up', () =>
        world.members.every((m) => m.replica.state.revision === origin.replica.state.revision),
      );
    }
  });

  it('keeps the order of a member over links that break and heal', () => {
    const world = new World({ seed: 5 });
    const leader = world.elect();
    const origin = world.followers()[0]!;
    for (let i = 0; i < 200; i++) {
      origin.write(`c${String(i).padStart(4, '0')}`);
      if (i % 20 === 10) world.hub.cut(leader.id, origin.id);
      if (i % 20 === 15) world.hub.heal(leader.id, origin.id);
      world.time.advance(i % 5);
    }
    world.time.until('all are answered', () => origin.answers.length === 200);
    expect(origin.journal).toEqual([...origin.journal].sort());
    expect(new Set(origin.journal).size).toBe(200);
  });

  it('ends a link on which a malformed frame comes, and goes on over the next', () => {
    const world = new World();
    const leader = world.elect();
    const follower = world.followers()[0]!;
    const marks = follower.marks.filter((mark) => mark === 'leader link lost').length;
    leader.network!.send(follower.id, Uint8Array.from([1, 99]));
    world.time.until('the link is down', () => {
      return follower.marks.filter((mark) => mark === 'leader link lost').length > marks;
    });
    follower.write('w');
    world.time.until('a command goes through', () => follower.outcome('w') === 'new w');
    expect(follower.fatal).toBe(undefined);
  });

  it('begins an incarnation with its hello although a client submits again at once', () => {
    const world = new World({ requestTimeoutMs: 60_000 });
    world.elect();
    const member = world.followers()[0]!;
    world.time.advance(500);
    const { incarnation } = member.replica;
    world.isolate(member);
    const again = (): void => {
      member.replica.submit(journalCommand('again'), { applied: () => {}, failed: again });
    };
    again();
    // Its lease of three election timeouts ends without it.
    world.time.advance(8000);
    world.rejoin(member);
    world.time.until('what was submitted again is applied', () => member.has('again'));
    expect(member.replica.incarnation).toBeGreaterThan(incarnation);
  });

  it('lets a barrier through on each member only when all before it is applied there', () => {
    const world = new World();
    const leader = world.elect();
    world.time.advance(500);
    leader.write('w');
    world.time.until('it is answered', () => leader.outcome('w') !== undefined);
    const saw: string[] = [];
    for (const member of world.members) {
      member.replica.barrier({
        reached: ({ clusterMs, wallMs }) => {
          expect(clusterMs).toBeGreaterThan(0);
          expect(wallMs).toBeGreaterThan(1_600_000_000_000);
          saw.push(`${member.id} ${member.has('w')}`);
        },
        failed: (error) => saw.push(`${member.id} ${error.code}`),
      });
    }
    world.time.until('all are through', () => saw.length === 3);
    expect(saw.sort()).toEqual(['1 true', '2 true', '3 true']);
  });

  it('answers no barrier on a leader that was deposed', () => {
    const world = new World({ requestTimeoutMs: 5000 });
    const old = world.elect();
    world.isolate(old);
    const outcomes: string[] = [];
    old.replica.barrier({
      reached: () => outcomes.push('reached'),
      failed: (error) => outcomes.push(error.code),
    });
    old.write('lost');
    world.time.until('another one leads', () => world.leader !== old);
    world.time.advance(1000);
    expect(old.replica.inContact).toBe(false);
    world.time.until('the barrier ended', () => outcomes.length === 1);
    expect(outcomes).toEqual(['NO_LEADER']);
    world.time.until('the command ended', () => old.outcome('lost') !== undefined);
    expect(old.outcome('lost')).toBe('UNKNOWN_OUTCOME');
  });

  it('renews leases through a follower, answered after commit', () => {
    const world = new World();
    world.elect();
    world.time.advance(500);
    const follower = world.followers()[0]!;
    const lease = follower.replica.state.leaseById(LeaseKind.Member, BigInt(follower.id))!;
    const before = lease.deadline;
    const alive: boolean[] = [];
    for (const handle of [lease.handle, 999]) {
      follower.replica.renew(handle, { renewed: (yes) => alive.push(yes), failed: () => {} });
    }
    world.time.until('it is answered', () => alive.length === 2);
    expect(alive).toEqual([true, false]);
    const after = follower.replica.state.leaseById(LeaseKind.Member, BigInt(follower.id))!;
    expect(after.deadline).toBeGreaterThan(before);
  });

  it('keeps every member alive while it is heard, and ends the incarnation of one that is not', () => {
    const world = new World();
    world.elect();
    world.time.advance(20_000);
    expect(world.members.map((member) => member.replica.incarnation)).toEqual([1, 1, 1]);
    const follower = world.followers()[0]!;
    follower.write('held');
    world.time.until('it is answered', () => follower.outcome('held') !== undefined);
    world.isolate(follower);
    world.time.advance(8000);
    world.rejoin(follower);
    world.time.until('it says hello again', () => follower.replica.incarnation === 2);
    follower.write('next life');
    world.time.until('it may write again', () => follower.has('next life'));
    expect(follower.outcome('next life')).toBe('new next life');
  });

  it('tells failed when no leader was ever given the command, and it never applies', () => {
    const world = new World({ requestTimeoutMs: 3000 });
    world.elect();
    const follower = world.followers()[0]!;
    world.isolate(follower);
    world.time.advance(50);
    follower.write('never left');
    world.time.until('it is answered', () => follower.answers.length === 1);
    expect(follower.outcome('never left')).toBe('NO_LEADER');
    world.rejoin(follower);
    world.time.advance(5000);
    follower.write('later');
    world.time.until('it writes again', () => follower.has('later'));
    expect(follower.has('never left')).toBe(false);
  });

  it('answers within the time limit on a member that never saw a leader', () => {
    const world = new World({ requestTimeoutMs: 3000 });
    for (const member of world.members) world.kill(member);
    const lonely = world.members[0]!;
    world.start(lonely);
    const outcomes: string[] = [];
    lonely.write('w');
    lonely.replica.barrier({
      reached: () => outcomes.push('reached'),
      failed: (error) => outcomes.push(error.code),
    });
    lonely.replica.renew(1, {
      renewed: () => outcomes.push('renewed'),
      failed: (error) => outcomes.push(error.code),
    });
    world.time.advance(3200);
    expect(lonely.outcome('w')).toBe('NO_LEADER');
    expect(outcomes.sort()).toEqual(['NO_LEADER', 'NO_LEADER']);
  });

  it('restarts with an equal hash and goes on', () => {
    const world = new World();
    world.elect();
    for (let i = 0; i < 30; i++) world.members[i % 3]!.write(`t${i}`);
    world.time.advance(300);
    const hash = world.members[0]!.replica.state.stateHash();
    for (const member of world.members) world.kill(member);
    for (const member of world.members) world.start(member);
    world.time.until('all serve', () => world.members.every((member) => member.replica.serving));
    const leader = world.elect();
    world.time.until('all have said hello', () =>
      world.members.every((m) => m.replica.state.members().every((r) => r.incarnation === 2)),
    );
    expect(hash).toMatch(/^[0-9a-f]{16}$/);
    for (let i = 0; i < 30; i++) expect(leader.has(`t${i}`)).toBe(true);
    leader.write('more');
    world.time.until('it goes on', () => world.members.every((m) => m.has('more')));
    expect(new Set(world.members.map((m) => m.replica.state.stateHash())).size).toBe(1);
  });

  it('hands leadership over to the member asked for', () => {
    const world = new World();
    world.elect();
    const follower = world.followers()[1]!;
    const ended: unknown[] = [];
    world.leader!.replica.transferLeadership(follower.id, (error) => ended.push(error));
    world.time.until('it ended', () => ended.length === 1);
    expect(ended).toEqual([undefined]);
    expect(world.leader).toBe(follower);
  });

  it('hands leadership over when the disk of the leader hangs', () => {
    const world = new World({ wal: true });
    const leader = world.elect();
    leader.write('before');
    world.time.until('it is applied', () => world.members.every((m) => m.has('before')));
    leader.diskDelayMs = Number.POSITIVE_INFINITY;
    const other = world.followers()[0]!;
    other.write('goes on');
    world.time.until('another one leads', () => world.leader !== leader, 5000);
    expect(leader.marks).toContain('hand-over');
    world.time.until('work goes on', () => other.has('goes on'));
  });

  it('hands leadership over before it stops, and stops all the same when nobody can lead', () => {
    const world = new World();
    const leader = world.elect();
    leader.write('before');
    world.time.until('it is applied', () => world.members.every((m) => m.has('before')));
    let closed = 0;
    leader.replica.close(() => closed++);
    world.time.until('it is closed', () => closed === 1, 300);
    leader.life.alive = false;
    const next = world.leader!;
    expect(next).not.toBe(leader);
    for (const member of world.followers()) world.kill(member);
    next.replica.close(() => closed++);
    world.time.until('that one is closed too', () => closed === 2, 1000);
  });

  it('carries gossip of a door to the other members', () => {
    const world = new World();
    world.elect();
    world.members[0]!.replica.gossip('redis', Uint8Array.of(65));
    world.members[0]!.replica.gossip('redis', Uint8Array.of(66));
    world.time.advance(10);
    expect(world.members.map((member) => member.gossip)).toEqual([
      [],
      ['1 redis B'],
      ['1 redis B'],
    ]);
  });

  it('lets expiry happen on an idle log, never early', () => {
    const world = new World();
    world.elect();
    const follower = world.followers()[0]!;
    world.time.advance(2000);
    world.kill(follower);
    const state = world.leader!.replica.state;
    const { deadline } = state.leaseById(LeaseKind.Member, BigInt(follower.id))!;
    expect(deadline).toBeGreaterThan(state.time);
    world.time.until(
      'the lease of the dead member ended',
      () => state.leaseById(LeaseKind.Member, BigInt(follower.id)) === undefined,
    );
    expect(state.time).toBeGreaterThanOrEqual(deadline);
  });
});

describe('a member alone', () => {
  it('elects itself, writes, and serves after a restart what it had answered', () => {
    const world = new World({ members: 1 });
    const only = world.elect();
    only.write('kept');
    world.time.until('it is answered', () => only.outcome('kept') !== undefined);
    world.kill(only);
    world.start(only);
    world.time.until('it serves', () => only.replica.serving);
    expect(only.has('kept')).toBe(true);
  });

  it('answers what waits when it is closed, and opens again from its image', () => {
    const world = new World({ members: 1 });
    const only = world.elect();
    only.write('kept');
    world.time.advance(10);
    only.write('late');
    let closed = false;
    only.replica.close(() => {
      closed = true;
    });
    world.time.until('it is closed', () => closed);
    expect(['UNKNOWN_OUTCOME', 'STOPPING']).toContain(only.outcome('late'));
    world.kill(only);
    world.start(only);
    world.time.until('it serves', () => only.replica.serving);
    expect(only.has('kept')).toBe(true);
  });
});
