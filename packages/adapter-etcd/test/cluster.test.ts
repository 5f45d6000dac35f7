import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CLUSTER } from '../src/services/api.ts';
import { DoorFixture } from './door-fixture.ts';

/** The errors of one member that nobody else can reach; what needs others is in test/system. */
describe('the Cluster service', () => {
  const OWN = 0xfeedn;
  let door: DoorFixture;

  beforeEach(async () => {
    door = await DoorFixture.open();
  });
  afterEach(() => door.close());

  const learner = (...peerURLs: string[]) =>
    door.call(CLUSTER.memberAdd, { peerURLs, isLearner: true });

  it.each([
    ['none', []],
    ['no scheme', ['127.0.0.1:2380']],
    ['a path', ['http://127.0.0.1:2380/x']],
    ['no port', ['http://127.0.0.1']],
    ['a port out of range', ['http://127.0.0.1:70000']],
    ['port 0', ['http://127.0.0.1:0']],
    ['a host that is none', ['http://1.2.3.4.5:2380']],
    ['a host with control characters', ['http://a\u0007b:2380']],
    ['TLS, which is not there yet', ['https://127.0.0.1:2380']],
    ['two', ['http://127.0.0.1:1', 'http://127.0.0.1:2']],
  ])('refuses peer URLs that are %s', async (_name, peerURLs) => {
    const text = '3 etcdserver: given member URLs are invalid';
    expect(await door.refusal(CLUSTER.memberAdd, { peerURLs })).toBe(text);
    expect(await door.refusal(CLUSTER.memberUpdate, { ID: OWN, peerURLs })).toBe(text);
  });

  it('adds a learner, that has neither name nor client URLs before it starts', async () => {
    const { header, member, members } = await learner('http://10.0.0.2:2380');
    expect(header).toMatchObject({ revision: 0, memberId: OWN });
    expect(member).toMatchObject({ name: '', peerURLs: ['http://10.0.0.2:2380'], isLearner: true });
    expect(member).toMatchObject({ clientURLs: [] });
    expect(member?.ID).not.toBe(0n);
    expect(members.map(({ ID }) => ID)).toEqual([OWN, member!.ID].sort((a, b) => (a < b ? -1 : 1)));
  });

  it('says why it adds nobody', async () => {
    const own = ['http://127.0.0.1:2380'];
    expect(await door.refusal(CLUSTER.memberAdd, { peerURLs: own })).toBe(
      '9 etcdserver: Peer URLs already exists',
    );
    await learner('http://10.0.0.2:2380');
    const other = { peerURLs: ['http://10.0.0.3:2380'], isLearner: true };
    expect(await door.refusal(CLUSTER.memberAdd, other)).toBe(
      '9 etcdserver: too many learner members in cluster',
    );
    await door.call(CLUSTER.memberAdd, { ...other, isLearner: false });
    const more = { peerURLs: ['http://10.0.0.4:2380'] };
    expect(await door.refusal(CLUSTER.memberAdd, more)).toBe(
      '2 etcdserver: re-configuration failed due to not enough started members',
    );
  });

  it('promotes only a learner that has the log', async () => {
    const { member } = await learner('http://10.0.0.2:2380');
    expect(await door.refusal(CLUSTER.memberPromote, { ID: member!.ID })).toBe(
      '9 etcdserver: can only promote a learner member which is in sync with leader',
    );
    expect(await door.refusal(CLUSTER.memberPromote, { ID: OWN })).toBe(
      '9 etcdserver: can only promote a learner member',
    );
    expect(await door.refusal(CLUSTER.memberPromote, { ID: 99n })).toBe(
      '5 etcdserver: member not found',
    );
  });

  it('moves a member and leaves it a learner', async () => {
    const { member } = await learner('http://10.0.0.2:2380');
    const moved = { ID: member!.ID, peerURLs: ['http://10.0.0.9:2380'] };
    const { members } = await door.call(CLUSTER.memberUpdate, moved);
    expect(members.find(({ ID }) => ID === moved.ID)).toMatchObject({ ...moved, isLearner: true });
    const taken = { ID: OWN, peerURLs: moved.peerURLs };
    expect(await door.refusal(CLUSTER.memberUpdate, taken)).toBe(
      '9 etcdserver: Peer URLs already exists',
    );
    expect(await door.refusal(CLUSTER.memberUpdate, { ...moved, ID: 99n })).toBe(
      '5 etcdserver: member not found',
    );
  });

  it('removes a member once, and never the last voter', async () => {
    const { member } = await learner('http://10.0.0.2:2380');
    const { members } = await door.call(CLUSTER.memberRemove, { ID: member!.ID });
    expect(members.map(({ ID }) => ID)).toEqual([OWN]);
    expect(await door.refusal(CLUSTER.memberRemove, { ID: member!.ID })).toBe(
      '5 etcdserver: member not found',
    );
    expect(await door.refusal(CLUSTER.memberRemove, { ID: OWN })).toBe(
      '2 etcdserver: re-configuration failed due to not enough started members',
    );
  });
});
