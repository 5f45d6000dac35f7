import { LockstepError } from '@lockstep/model';
import { describe, expect, it } from 'vitest';
import { changeMembership, type MembershipChange, type MembershipResult } from '../src/index.ts';
import { type TestMember, World } from './test-world.ts';

/** Asks one member for a change; its result is there once the change is in force. */
function ask(world: World, member: TestMember, change: MembershipChange) {
  const answer: { result: MembershipResult | undefined } = { result: undefined };
  changeMembership(member.replica, world.time, change, (result) => {
    answer.result = result;
  });
  return answer;
}

function change(world: World, member: TestMember, wanted: MembershipChange): MembershipResult {
  const answer = ask(world, member, wanted);
  world.time.until(`${wanted.kind} is answered`, () => answer.result !== undefined);
  return answer.result!;
}

const adding = (id: number, learner = true): MembershipChange => ({
  kind: 'add',
  etcdId: BigInt(id),
  peerAddress: `member-${id}`,
  learner,
});

const refused = (reason: string) => ({ kind: 'refused', reason });
const configurationOf = (member: TestMember) => member.replica.status().configuration;

describe('a member comes', () => {
  it('as learner, through any member, and is promoted only when it has caught up', () => {
    const world = new World();
    const leader = world.elect();
    world.time.advance(500);
    const [asked] = world.followers();
    expect(change(world, asked!, adding(4))).toEqual({ kind: 'changed', member: 4 });
    expect(configurationOf(asked!).learners).toEqual([4]);
    const promotion = { kind: 'promote', member: 4 } as const;
    expect(change(world, asked!, promotion)).toEqual(refused('not-in-sync'));
    expect(change(world, leader, promotion)).toEqual(refused('not-in-sync'));
    const joiner = world.join(4);
    leader.write('before');
    world.time.until('it has the state', () => joiner.has('before'));
    world.time.advance(1000);
    expect(change(world, asked!, promotion)).toEqual({ kind: 'changed', member: 4 });
    expect(configurationOf(asked!).voters).toEqual([1, 2, 3, 4]);
    expect(change(world, asked!, promotion)).toEqual(refused('no-learner'));
  });

  it('as voter: it learns first, and nobody needs it meanwhile', () => {
    const world = new World({ members: 1 });
    const alone = world.elect();
    world.time.advance(500);
    expect(change(world, alone, adding(2, false))).toEqual({ kind: 'changed', member: 2 });
    alone.write('with nobody else there');
    world.time.until('it is applied', () => alone.has('with nobody else there'));
    const joiner = world.join(2);
    world.time.until('it votes', () => configurationOf(alone).voters.length === 2);
    expect(joiner.has('with nobody else there')).toBe(true);
  });

  it('two together', () => {
    const world = new World();
    const leader = world.elect();
    world.time.advance(500);
    for (const id of [4, 5]) {
      expect(change(world, leader, adding(id, false))).toEqual({ kind: 'changed', member: id });
    }
    for (const id of [4, 5]) world.join(id);
    world.time.until('five vote', () => configurationOf(leader).voters.length === 5);
    world.time.until('all know', () =>
      world.members.every((member) => configurationOf(member).voters.length === 5),
    );
    expect(world.members.map(({ fatal }) => fatal)).toEqual(world.members.map(() => undefined));
  });

  it('not while a voter cannot be reached, unless as learner', () => {
    const world = new World();
    const leader = world.elect();
    world.time.advance(500);
    const [away] = world.followers();
    world.kill(away!);
    world.time.until('the link is down', () =>
      leader.replica.status().peers.some(({ connected }) => !connected),
    );
    expect(change(world, leader, adding(4, false))).toEqual(refused('unhealthy'));
    expect(change(world, leader, adding(4))).toMatchObject({ kind: 'changed' });
  });
});

describe('a member goes', () => {
  it('and stops by itself; its place may be taken again', () => {
    const world = new World();
    const leader = world.elect();
    world.time.advance(500);
    const [gone, stays] = world.followers();
    expect(change(world, stays!, { kind: 'remove', member: gone!.id })).toMatchObject({
      kind: 'changed',
    });
    world.time.until('it stops', () => gone!.fatal !== undefined);
    expect(gone!.fatal).toBeInstanceOf(LockstepError);
    expect(gone!.fatal).toMatchObject({ code: 'MEMBER_REMOVED' });
    expect(configurationOf(leader)).toMatchObject({ voters: [leader.id, stays!.id].sort() });
    expect(change(world, leader, { kind: 'remove', member: gone!.id })).toEqual(
      refused('unknown-member'),
    );
    const again = { ...adding(9), peerAddress: `member-${gone!.id}` } as MembershipChange;
    expect(change(world, leader, again)).toEqual({ kind: 'changed', member: 4 });
  });

  it('also when it asked for that itself', () => {
    const world = new World();
    world.elect();
    world.time.advance(500);
    const [gone] = world.followers();
    const answer = ask(world, gone!, { kind: 'remove', member: gone!.id });
    world.time.until('it is answered', () => answer.result !== undefined);
    expect(answer.result).toMatchObject({ kind: 'changed' });
    world.time.until('it stops', () => gone!.fatal !== undefined);
  });

  it('after it has handed over, when it leads', () => {
    const world = new World();
    const leader = world.elect();
    world.time.advance(500);
    const [other] = world.followers();
    const answer = ask(world, other!, { kind: 'remove', member: leader.id });
    world.time.until('it is answered', () => answer.result !== undefined);
    expect(answer.result).toMatchObject({ kind: 'changed' });
    world.time.until('it stops', () => leader.fatal !== undefined);
    expect(leader.fatal).toMatchObject({ code: 'MEMBER_REMOVED' });
    world.kill(leader);
    other!.write('after');
    world.time.until('the others go on', () => other!.has('after'));
    expect(world.leader).not.toBe(leader);
  });

  it('when it was away: it is told when it comes back', () => {
    const world = new World();
    const leader = world.elect();
    world.time.advance(500);
    const [away] = world.followers();
    world.isolate(away!);
    expect(change(world, leader, { kind: 'remove', member: away!.id })).toMatchObject({
      kind: 'changed',
    });
    // Whoever is not linked then cannot be told by a link: it asks, see apps/lockstep.
    expect(leader.replica.state.removedMembers()).toMatchObject([{ id: away!.id }]);
    expect(away!.fatal).toBeUndefined();
  });

  it('only when the others can do without it, even if all of them lose power then (M-4)', () => {
    const world = new World({ members: 2, wal: true });
    const leader = world.elect();
    world.time.advance(500);
    const [gone] = world.followers();
    ask(world, leader, { kind: 'remove', member: gone!.id });
    world.time.until('it stops', () => gone!.fatal !== undefined);
    world.kill(gone!);
    world.powerLoss(leader);
    world.start(leader);
    world.time.until('the other leads alone', () => leader.replica.inContact);
    leader.write('alone');
    world.time.until('it is applied', () => leader.has('alone'));
    expect(configurationOf(leader)).toMatchObject({ voters: [leader.id], learners: [] });
  });

  it('but neither the last voter, nor one of too few that are there', () => {
    const world = new World();
    const leader = world.elect();
    world.time.advance(500);
    const [one, two] = world.followers();
    world.kill(one!);
    world.time.until('the link is down', () =>
      leader.replica.status().peers.some(({ connected }) => !connected),
    );
    expect(change(world, leader, { kind: 'remove', member: two!.id })).toEqual(
      refused('unhealthy'),
    );
    expect(change(world, leader, { kind: 'remove', member: one!.id })).toMatchObject({
      kind: 'changed',
    });
    expect(change(world, leader, { kind: 'remove', member: two!.id })).toMatchObject({
      kind: 'changed',
    });
    expect(change(world, leader, { kind: 'remove', member: leader.id })).toEqual(
      refused('too-few-started'),
    );
  });
});

describe('while an older member holds an upgrade back', () => {
  it('one can be removed, by steps that older members know, and none added', () => {
    const world = new World({ featureLevel: 1 });
    const leader = world.elect();
    world.time.advance(500);
    const [gone, asked] = world.followers();
    const joint: number[] = [];
    asked!.replica.subscribe({
      transaction: () => {},
      skipped: () => {},
      changed: () => void joint.push(...configurationOf(asked!).votersOutgoing),
    });
    expect(change(world, asked!, adding(4))).toMatchObject({
      kind: 'failed',
      error: { code: 'FEATURE_LEVEL' },
    });
    expect(change(world, asked!, { kind: 'remove', member: gone!.id })).toMatchObject({
      kind: 'changed',
    });
    world.time.until('it stops', () => gone!.fatal !== undefined);
    expect(configurationOf(leader).voters).not.toContain(gone!.id);
    expect(joint).toEqual([]);
    expect(leader.replica.state.removedMembers()).toEqual([]);
  });
});

describe('a joint configuration', () => {
  it('is left by the next leader when the one that entered it is gone (M-2)', () => {
    const world = new World({ members: 5 });
    const leader = world.elect();
    world.time.advance(500);
    const gone = world.followers()[0]!;
    ask(world, leader, { kind: 'remove', member: gone.id });
    world.time.until('a joint configuration is in force', () =>
      world.members.some((member) => configurationOf(member).votersOutgoing.length > 0),
    );
    world.kill(leader);
    const others = world.members.filter((member) => member !== leader && member !== gone);
    world.time.until('the others leave it', () =>
      others.every((member) => {
        const { votersOutgoing, voters } = configurationOf(member);
        return votersOutgoing.length === 0 && !voters.includes(gone.id);
      }),
    );
  });
});
