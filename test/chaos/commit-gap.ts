import type { Member } from '../support/cluster.ts';
import { pass } from '../support/until.ts';
import { etcdDoor, redisDoor, zookeeperDoor } from './load.ts';

/** One client of one door that writes without pause and remembers when it was answered. */
export interface GapClient {
  readonly name: string;
  /** Monotonic times of the acknowledgements so far, rising. */
  readonly acknowledgedMs: readonly number[];
  /** Writes that failed; each breaks the connection, and the client opens another. */
  readonly failures: readonly string[];
  stop(): Promise<void>;
}

/** Clients of the three doors of each of these members. ZooKeeper's node `/load` must exist. */
export function startGapClients(members: readonly Member[], prefix: string): GapClient[] {
  return members.flatMap((member) => [
    startClient(`${prefix}-etcd-${member.name}`, etcdDoor(member)),
    startClient(`${prefix}-zookeeper-${member.name}`, zookeeperDoor(member)),
    startClient(`${prefix}-redis-${member.name}`, redisDoor(member)),
  ]);
}

type Open = ReturnType<typeof etcdDoor>;

function startClient(name: string, open: Open): GapClient {
  const acknowledgedMs: number[] = [];
  const failures: string[] = [];
  let stopping = false;
  const run = async (): Promise<void> => {
    for (let n = 0; !stopping; ) {
      const door = await open().catch(() => undefined);
      if (door === undefined) {
        await pass(50);
        continue;
      }
      try {
        while (!stopping) {
          await door.write(`${name}-${++n}`);
          acknowledgedMs.push(performance.now());
          // Leaves the cores to the members: gaps are measured, not throughput.
          await pass(2);
        }
      } catch (error) {
        failures.push(`${name}-${n}: ${(error as Error).message}`);
      }
      door.close();
    }
  };
  const done = run();
  return {
    name,
    acknowledgedMs,
    failures,
    stop() {
      stopping = true;
      return done;
    },
  };
}

/** Longest time without an acknowledgement to one client, within [fromMs, toMs]. */
export function longestGapMs({ acknowledgedMs }: GapClient, fromMs: number, toMs: number): number {
  let longest = 0;
  let last = fromMs;
  for (const at of acknowledgedMs) {
    if (at < fromMs) last = Math.max(at, fromMs - 1000);
    if (at < fromMs || at > toMs) continue;
    longest = Math.max(longest, at - last);
    last = at;
  }
  return Math.max(longest, toMs - last);
}
