import { checkHistory, monotonicNs, type Operation, tell } from '../../tools/checker/src/index.ts';
import type { Member } from '../support/cluster.ts';
import { Etcd } from '../support/etcd.ts';
import { Redis, RedisError } from '../support/redis.ts';
import { body, Op, ZooKeeper } from '../support/zookeeper.ts';

/** What one writer did: acknowledged keys, and those whose outcome nobody told. */
export interface Journal {
  readonly acknowledged: string[];
  readonly unknown: string[];
  /** All of it, for the checker. */
  readonly history: Operation[];
}

/** Writes unique keys one after another through one door of one member until told to stop. */
export interface Writer {
  readonly journal: Journal;
  stop(): Promise<void>;
}

interface Door {
  /** What a write under that key is, in a history. */
  operation(key: string): object;
  /** What its answer tells: the witness. */
  write(key: string): Promise<object>;
  close(): void;
}

/** What no correct cluster could have answered the writers, in lines for people; none if all could. */
export function judge(writers: readonly Writer[]): string[] {
  const operations = writers.flatMap(({ journal }) => journal.history);
  const verdicts = checkHistory(operations);
  return verdicts.filter(({ violations }) => violations.length > 0).flatMap(tell);
}

/** Reconnects when its connection fails; a failed write is never repeated under the same key. */
export function startWriter(name: string, open: () => Promise<Door>): Writer {
  const journal: Journal = { acknowledged: [], unknown: [], history: [] };
  let stopping = false;
  const run = async (): Promise<void> => {
    for (let n = 0; !stopping; ) {
      const door = await open().catch(() => undefined);
      if (door === undefined) {
        await new Promise((resolve) => setTimeout(resolve, 50));
        continue;
      }
      for (let broken = false; !stopping && !broken; ) {
        const key = `${name}-${++n}`;
        const base = { client: name, ...door.operation(key), call: monotonicNs() };
        const record = (outcome: Operation['outcome'], told: object): void => {
          const when = { return: monotonicNs(), outcome };
          journal.history.push({ ...base, ...when, ...told } as Operation);
        };
        await door.write(key).then(
          (told) => {
            record('ok', told);
            journal.acknowledged.push(key);
          },
          () => {
            record('unknown', {});
            journal.unknown.push(key);
            broken = true;
          },
        );
      }
      door.close();
      // Lets a member that is gone be gone: no spinning on refused connections.
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  const done = run();
  return {
    journal,
    stop() {
      stopping = true;
      return done;
    },
  };
}

export const etcdDoor = (member: Member) => async (): Promise<Door> => {
  const client = new Etcd(member.ports.etcd);
  return {
    operation: (key) => ({ door: 'etcd', op: 'write', key: `load/${key}`, value: key }),
    write: async (key) => ({ revision: (await client.put(`load/${key}`, key)).header?.revision }),
    close: () => client.close(),
  };
};

export const zookeeperDoor = (member: Member) => async (): Promise<Door> => {
  const client = await ZooKeeper.open(member.ports.zookeeper, 10_000);
  return {
    operation: (key) => ({ door: 'zookeeper', op: 'write', key: `/load/${key}`, value: key }),
    write: async (key) => {
      const { error, zxid } = await client.call(Op.create, body.create(`/load/${key}`, key));
      if (error !== 0) throw new Error(`create ${key}: ${error}`);
      return { revision: Number(zxid) };
    },
    close: () => client.close(),
  };
};

/** RPUSH-free "once" check: each key is a counter, so a second apply would show as 2. */
export const redisDoor = (member: Member) => async (): Promise<Door> => {
  const client = await Redis.open(member.ports.redis);
  return {
    operation: (key) => ({ door: 'redis', op: 'add', key: `load:${key}`, value: 1 }),
    write: async (key) => {
      const reply = await client.call('INCR', `load:${key}`);
      if (reply instanceof RedisError) throw reply;
      return { result: reply };
    },
    close: () => client.close(),
  };
};

/** Takes and gives back one lock again and again; each token must exceed all before it. */
export const tokenDoor = (member: Member, tokens: number[]) => async (): Promise<Door> => {
  const client = await Redis.open(member.ports.redis);
  return {
    operation: (key) => ({ door: 'redis', op: 'write', key: 'token-lock', value: key, lease: key }),
    write: async (key) => {
      const reply = await client.call('SET', 'token-lock', key, 'PX', 60_000, 'FENCE');
      if (typeof reply !== 'number') throw new Error(`SET FENCE: ${String(reply)}`);
      tokens.push(reply);
      return { revision: reply };
    },
    close: () => client.close(),
  };
};
