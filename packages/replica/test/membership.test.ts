import {
  encodeAddMember,
  encodeRemoveMember,
  encodeUpdateMember,
  type MemberRecord,
} from '@lockstep/state-machine';
import { describe, expect, it } from 'vitest';
import { directoryRefusal } from '../src/index.ts';
import { nextConfiguration } from '../src/membership.ts';
import { World } from './test-world.ts';

const record = (id: number, learner = false): MemberRecord => ({
  id,
  name: `n${id}`,
  etcdId: BigInt(id),
  peerAddress: '',
  addresses: {},
  learner,
  version: '',
  featureLevel: 0,
  incarnation: 0,
  dataDirectory: '',
});

const configuration = (voters: number[], learners: number[] = []) => ({
  voters,
  votersOutgoing: [],
  learners,
  learnersNext: [],
  autoLeave: false,
});

describe('the next configuration', () => {
  it.each([
    ['nothing to do', [1, 2, 3], [], [1, 2, 3], [], undefined],
    ['a learner is added', [1, 2], [], [1, 2], [3], [[1, 2], [3]]],
    ['a learner is promoted', [1, 2], [3], [1, 2, 3], [], [[1, 2, 3], []]],
    ['one voter at a time is added', [1], [], [1, 2, 3], [], [[1, 2], []]],
    ['additions come before removals', [1, 2], [], [1, 3], [], [[1, 2, 3], []]],
    ['a voter is removed', [1, 2, 3], [], [1, 3], [], [[1, 3], []]],
    ['a voter becomes a learner', [1, 2, 3], [], [1, 2], [3], [[1, 2], [3]]],
    ['the leader is removed last', [1, 2, 3], [], [3], [], [[1, 3], []]],
    ['a learner is removed', [1, 2], [3], [1, 2], [], [[1, 2], []]],
    ['the last voter stays', [1], [], [], [2], [[1], [2]]],
  ] as const)('%s', (_name, voters, learners, wantVoters, wantLearners, expected) => {
    const records = [
      ...wantVoters.map((id) => record(id)),
      ...wantLearners.map((id) => record(id, true)),
    ];
    const next = nextConfiguration(configuration([...voters], [...learners]), records, 1);
    expect(next === undefined ? undefined : [next.voters, next.learners]).toEqual(expected);
  });
});

describe('membership', () => {
  it('takes in a learner that fetches the state, promotes it, and lets a voter go', () => {
    const world = new World();
    const leader = world.elect();
    for (let i = 0; i < 20; i++) leader.write(`w${i}`);
    world.time.advance(500);
    leader.replica.submit(
      encodeAddMember({ name: 'n4', etcdId: 4n, peerAddress: 'member-4', learner: true }),
    );
    world.time.until('the leader links to it', () =>
      leader.replica.status().peers.some((peer) => peer.id === 4),
    );
    const joiner = world.join(4);
    world.time.until('it has the state', () => joiner.has('w19'));
    joiner.write('from the learner');
    world.time.until('it may write', () => leader.has('from the learner'));

    leader.replica.submit(encodeUpdateMember({ member: 4, learner: false }));
    const gone = world.followers().find((member) => member !== joiner)!;
    leader.replica.submit(encodeRemoveMember(gone.id));
    world.time.until('the others make up the cluster', () => {
      const ids = leader.replica.status().peers.map((peer) => peer.id);
      return ids.includes(4) && !ids.includes(gone.id);
    });
    world.kill(gone);
    joiner.write('as a voter');
    world.time.until('it writes on', () => leader.has('as a voter'));
    expect(joiner.replica.state.stateHash()).toBe(leader.replica.state.stateHash());
    expect([leader.fatal, joiner.fatal]).toEqual([undefined, undefined]);
  });
});

describe('a peer that names a known member', () => {
  it('is refused with another data directory than the one bound to it', () => {
    const records = [{ ...record(2), dataDirectory: 'first' }, record(3)];
    expect(directoryRefusal(records, { member: 2, dataDirectory: 'first' })).toBe(undefined);
    expect(directoryRefusal(records, { member: 2, dataDirectory: 'second' })).toContain('remove');
    expect(directoryRefusal(records, { member: 3, dataDirectory: 'any' })).toBe(undefined);
  });

  it('keeps the votes of members removed together until the cluster does without them', () => {
    const world = new World({ members: 4 });
    const leader = world.elect();
    world.time.advance(500);
    const [one, two, stays] = world.followers();
    leader.replica.submit(encodeRemoveMember(one!.id));
    leader.replica.submit(encodeRemoveMember(two!.id));
    world.time.until('two are left', () => leader.replica.status().peers.length === 1);
    for (const gone of [one!, two!]) world.kill(gone);
    world.time.until('they lead on', () => leader.replica.inContact);
    leader.write('without them');
    world.time.until('it is applied', () => stays!.has('without them'));
  });

  it('finds a leader that joined while it was away', () => {
    const world = new World();
    const leader = world.elect();
    const away = world.followers()[0]!;
    world.kill(away);
    leader.replica.submit(
      encodeAddMember({ name: 'n4', etcdId: 4n, peerAddress: 'member-4', learner: true }),
    );
    world.time.until('the leader links to it', () =>
      leader.replica.status().peers.some((peer) => peer.id === 4),
    );
    const joiner = world.join(4);
    leader.replica.submit(encodeUpdateMember({ member: 4, learner: false }));
    leader.write('before');
    world.time.until('it has the state', () => joiner.has('before'));
    world.time.advance(500);
    leader.replica.transferLeadership(4, () => {});
    world.time.until('it leads', () => joiner.replica.status().role === 'leader');
    world.start(away);
    world.time.until('the one that was away has caught up', () => away.has('before'));
  });
});
