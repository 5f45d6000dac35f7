import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Cluster, type Member } from '../support/cluster.ts';
import { freePort } from '../support/ports.ts';
import { until } from '../support/until.ts';
import { PeerNetwork } from './peer-network.ts';

/** That the network does what it says: a test of the tests. */
describe('a network of proxies', () => {
  const network = new PeerNetwork();
  let cluster: Cluster;

  beforeAll(async () => {
    cluster = await Cluster.start(3, [], {
      peerProxy: async (_, port) => network.proxy(port, await freePort()),
    });
  });
  afterAll(async () => {
    await cluster?.stop();
    await network.close();
  });

  const id = (member: Member): number => cluster.members.indexOf(member) + 1;
  const others = (member: Member): Member[] => cluster.members.filter((other) => other !== member);
  const isDeposed = async (member: Member): Promise<boolean> => {
    const views = await Promise.all(others(member).map((other) => other.status()));
    return views.some((view) => view?.self.role === 'leader') && !(await member.healthy());
  };

  for (const [how, part] of [
    ['cut off', (a: number, b: number) => network.cut(a, b)],
    ['silenced', (a: number, b: number) => network.silence(a, b)],
    ['mute', (a: number, b: number) => network.silence(a, b, a)],
  ] as const) {
    it(`a leader that is ${how} is followed by another, and comes back`, async () => {
      const leader = await cluster.leader();
      for (const other of others(leader)) part(id(leader), id(other));
      await until(
        () => isDeposed(leader),
        20_000,
        () => `${leader.name} leads no more`,
      );
      network.heal();
      await cluster.allHealthy();
    }, 60_000);
  }

  it('a pair that is cut leaves both serving through the third', async () => {
    const leader = await cluster.leader();
    const [one, two] = others(leader) as [Member, Member];
    network.cut(id(one), id(two));
    await cluster.allHealthy();
    expect((await leader.status())?.self.role).toBe('leader');
    network.heal();
  }, 60_000);
});
