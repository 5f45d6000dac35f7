import { monotonicNs, type Operation } from '../../tools/checker/src/index.ts';
import type { Member } from '../support/cluster.ts';
import { Etcd } from '../support/etcd.ts';
import { Redis } from '../support/redis.ts';
import { body, Op, ZooKeeper } from '../support/zookeeper.ts';
import type { Stage } from './stage.ts';

/** What one member shows of the unique keys of one door. */
interface Look {
  readonly found: ReadonlySet<string>;
  readonly revision?: number;
}

/**
 * Reads every key whose write was acknowledged, through every door of every member, and records
 * each as a read. Gives how many are missing somewhere.
 */
export async function readEverything(stage: Stage): Promise<number> {
  const { cluster, acknowledged, recorder } = stage;
  let missing = 0;
  for (const member of cluster.members) {
    for (const [door, look] of Object.entries(DOORS) as [Operation['door'], LookAt][]) {
      const keys = acknowledged.filter((each) => each.door === door).map(({ key }) => key);
      const call = monotonicNs();
      const { found, revision } = await look(member, keys);
      const end = monotonicNs();
      keys.forEach((key, i) => {
        if (!found.has(key)) missing++;
        recorder.record({
          client: `last-${member.name}-${door}-${i}`,
          door,
          op: 'read',
          key,
          call,
          return: end,
          outcome: 'ok',
          // Each of them was written once, with the end of its name.
          result: found.has(key) ? key.slice(UNIQUE[door].length) : null,
          ...(revision !== undefined && { revision }),
        } as Operation);
      });
    }
  }
  return missing;
}

const UNIQUE = { etcd: 'chaos/u/', zookeeper: '/chaos/u/', redis: 'chaos:u:' };
type LookAt = (member: Member, keys: readonly string[]) => Promise<Look>;

const DOORS: Record<Operation['door'], LookAt> = {
  etcd: async (member) => {
    const etcd = new Etcd(member.ports.etcd);
    const { header, kvs } = await etcd.prefix(UNIQUE.etcd);
    etcd.close();
    const found = new Set(kvs.map(({ key }) => key.toString()));
    return { found, revision: header?.revision ?? 0 };
  },
  zookeeper: async (member) => {
    const zookeeper = await ZooKeeper.attach(member.ports.zookeeper);
    const parent = UNIQUE.zookeeper.slice(0, -1);
    await zookeeper.call(Op.sync, body.path(parent));
    const children = await zookeeper.children(parent);
    zookeeper.close();
    return { found: new Set(children.map((name) => UNIQUE.zookeeper + name)) };
  },
  redis: async (member, keys) => {
    const redis = await Redis.open(member.ports.redis);
    const found = new Set<string>();
    for (let i = 0; i < keys.length; i += 500) {
      const page = keys.slice(i, i + 500);
      const replies = await Promise.all(redis.pipeline(page.map((key) => ['GET', key])));
      replies.forEach((reply, j) => {
        if (reply !== null) found.add(page[j] ?? '');
      });
    }
    redis.close();
    return { found };
  },
};
