import { kindOfChange } from '@lockstep/raft';
import {
  encodeAddMember,
  encodeRemoveMember,
  encodeUpdateMember,
  type MemberRecord,
} from '@lockstep/state-machine';
import { describe, expect, it } from 'vitest';
import { isLedByAnother, peerRefusal } from '../src/index.ts';
import { isOnlyVoter, nextConfiguration } from '../src/next-configuration.ts';
import { type TestMember, World } from './test-world.ts';

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
  const READY = [4, 5];
  it.each([
    ['nothing to do', [1, 2, 3], [], [1, 2, 3], [], undefined],
    ['a learner is added', [1, 2], [], [1, 2], [3], { learners: [3] }],
    ['a voter to be begins as learner', [1], [], [1, 2], [], { learners: [2] }],
    ['two come in at once', [1], [], [1, 2, 3], [], { learners: [2, 3] }],
    ['one that is not ready waits', [1, 2], [3], [1, 2, 3], [], undefined],
    ['one voter more is a simple change', [1, 2], [4], [1, 2, 4], [], { voters: [1, 2, 4] }],
    [
      'two voters more are a joint change',
      ...[[1, 2], [4, 5], [1, 2, 4, 5], []],
      { voters: [1, 2, 4, 5], votersOutgoing: [1, 2], autoLeave: true },
    ],
    [
      'a voter that goes is a learner first',
      ...[[1, 2, 3], [], [1, 3], []],
      { voters: [1, 3], votersOutgoing: [1, 2, 3], learnersNext: [2], autoLeave: true },
    ],
    [
      'a voter is replaced in one joint change',
      ...[[1, 2, 3], [4], [1, 2, 4], []],
      { voters: [1, 2, 4], votersOutgoing: [1, 2, 3], learnersNext: [3], autoLeave: true },
    ],
    [
      'a voter that goes does not wait for the one that is to replace it',
      ...[[1, 2, 3], [6], [1, 2, 6], []],
      {
        ...{ voters: [1, 2], votersOutgoing: [1, 2, 3], autoLeave: true },
        ...{ learners: [6], learnersNext: [3] },
      },
    ],
    [
      'a voter becomes a learner for good',
      ...[[1, 2, 3], [], [1, 2], [3]],
      { voters: [1, 2], votersOutgoing: [1, 2, 3], learnersNext: [3], autoLeave: true },
    ],
    ['a learner is removed', [1, 2], [3], [1, 2], [], { voters: [1, 2] }],
    ['the last voter stays', [1], [2], [], [2], undefined],
    ['without records nothing changes', [1, 2], [], [], [], undefined],
  ] as [string, number[], number[], number[], number[], object | undefined][])(
    '%s',
    (_name, voters, learners, wantVoters, wantLearners, expected) => {
      const records = [
        ...wantVoters.map((id) => record(id)),
        ...wantLearners.map((id) => record(id, true)),
      ];
      const from = configuration(voters, learners);
      const next = nextConfiguration(from, records, (id) => READY.includes(id));
      const parts = expected === undefined ? undefined : { ...configuration(voters), ...expected };
      expect(next).toEqual(parts);
      if (next !== undefined) expect(kindOfChange(from, next)).toBeDefined();
    },
  );

  it('takes one voter at a time where a joint one is not allowed', () => {
    const step = (voters: number[], learners: number[], wanted: number[]) => {
      const records = wanted.map((id) => record(id));
      return nextConfiguration(configuration(voters, learners), records, () => true, false);
    };
    expect(step([1, 2, 3], [4], [1, 2, 4])).toEqual(configuration([1, 2, 3, 4]));
    expect(step([1, 2, 3, 4], [], [1, 2, 4])).toEqual(configuration([1, 2, 4], [3]));
    expect(step([1, 2, 4], [3], [1, 2, 4])).toEqual(configuration([1, 2, 4]));
    expect(step([1, 2, 3], [], [1])).toEqual(configuration([1, 3], [2]));
  });

  it('knows who has nobody to ask: both halves of a joint one may have the state', () => {
    const joint = { ...configuration([1]), votersOutgoing: [1, 2] };
    expect(
      [configuration([1], [2]), joint, configuration([1, 2])].map((each) => isOnlyVoter(each, 1)),
    ).toEqual([true, false, false]);
  });

  it('leaves a joint one, whatever the records say meanwhile', () => {
    const joint = {
      ...{ voters: [1, 3], votersOutgoing: [1, 2, 3], autoLeave: true },
      ...{ learners: [5], learnersNext: [2] },
    };
    const next = nextConfiguration(joint, [record(1), record(9)], () => true);
    expect(next).toEqual(configuration([1, 3], [2, 5]));
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

describe('a peer is refused', () => {
  const former = { id: 9, name: 'n9', etcdId: 9n, peerAddress: '', dataDirectory: 'of n9' };
  const state = {
    members: () => [{ ...record(2), dataDirectory: 'first' }, record(3)],
    removedMembers: () => [former],
    lastMember: 9,
  };
  it.each([
    ['no known member with its directory', 2, 'first', true, undefined],
    ['one with another directory than it is bound to', 2, 'second', true, 'remove it'],
    ['nobody who is not bound yet', 3, 'any', true, undefined],
    ['one that was removed', 9, 'of n9', false, 'was removed'],
    ['no removed one whose vote may still be needed', 9, 'of n9', true, undefined],
    ['an empty disk under the id of such a one', 9, 'empty', true, 'was removed'],
    ["one in a removed member's directory", 3, 'of n9', true, 'use an empty one'],
    ['one that is on record and in force elsewhere only', 3, 'any', false, undefined],
    ['one that was removed and left no tombstone', 7, 'x', false, 'not known'],
    ['nobody who was added when this member did not hear of it', 10, 'x', false, undefined],
    ["one added unheard in a removed member's directory", 10, 'of n9', false, 'use an empty one'],
  ] as const)('%s', (_name, member, dataDirectory, isPeer, expected) => {
    const refusal = peerRefusal(state, { member, dataDirectory }, isPeer, false);
    if (expected === undefined) expect(refusal).toBeUndefined();
    else expect(refusal).toContain(expected);
  });
});

describe('a member that is not known here', () => {
  it('is refused while a leader is followed, for then it was not added yet', () => {
    const world = new World();
    const leader = world.elect();
    const state = { members: () => [], removedMembers: () => [], lastMember: 3 };
    const refusal = (member: number) =>
      peerRefusal(
        state,
        { member, dataDirectory: 'x' },
        false,
        isLedByAnother(leader.replica, member),
      );
    expect(refusal(4)).toContain('not known here');
    expect(refusal(leader.id)).toContain('not known here');
    world.isolate(leader);
    world.time.until('its leader is gone', () => !leader.replica.inContact);
    expect(refusal(4)).toBeUndefined();
  });
});

describe('members removed', () => {
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

  it('fills no log with what waits at a removed member whose vote is still needed', () => {
    const world = new World();
    const leader = world.elect();
    world.time.advance(500);
    const [going, away] = world.followers() as [TestMember, TestMember];
    // Without it the change of configuration would leave a cluster that cannot commit.
    world.kill(away);
    world.time.advance(2000);
    leader.replica.submit(encodeRemoveMember(going.id));
    world.time.until('its record is gone', () =>
      going.replica.state.members().every(({ id }) => id !== going.id),
    );
    world.kill(going);
    world.start(going);
    for (let i = 0; i < 10; i++) going.write(`waits ${i}`);
    world.time.until('a write of the leader commits by its vote', () => {
      if (world.leader !== undefined && !world.leader.has('needs it')) leader.write('needs it');
      return going.has('needs it');
    });
    const length = leader.replica.raft.lastIndex;
    world.time.advance(3000);
    expect(leader.replica.raft.lastIndex - length).toBeLessThan(20);
  });

  it('gives its vote to one that joined while it was away, and the others are gone', () => {
    const world = new World();
    const leader = world.elect();
    const [away, gone] = world.followers() as [TestMember, TestMember];
    world.time.until('members may be added', () => leader.replica.state.featureLevel >= 2);
    world.kill(away);
    leader.replica.submit(
      encodeAddMember({ name: 'n4', etcdId: 4n, peerAddress: 'member-4', learner: true }),
    );
    const isVoter = (id: number) => leader.replica.status().configuration.voters.includes(id);
    world.time.until('the leader links to it', () =>
      leader.replica.status().peers.some((peer) => peer.id === 4),
    );
    const joiner = world.join(4);
    leader.replica.submit(encodeUpdateMember({ member: 4, learner: false }));
    world.time.until('it votes', () => isVoter(4));
    leader.replica.submit(encodeRemoveMember(gone.id));
    world.time.until('the other one does not', () => !isVoter(gone.id));
    leader.write('before');
    world.time.until('it has the state', () => joiner.has('before'));
    world.time.advance(500);
    world.kill(gone);
    world.kill(leader);
    world.start(away);
    world.time.until('they lead on', () => world.leader?.replica.inContact === true);
    joiner.write('after');
    world.time.until('it is applied', () => away.has('after'));
  });

  it('finds a leader that joined while it was away', () => {
    const world = new World();
    const leader = world.elect();
    world.time.advance(500);
    const away = world.followers()[0]!;
    world.time.until('members may be added', () => leader.replica.state.featureLevel >= 2);
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
