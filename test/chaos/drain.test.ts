import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Cluster, type Member } from '../support/cluster.ts';
import { pass, until } from '../support/until.ts';
import { body, Op, ZooKeeper } from '../support/zookeeper.ts';
import { type GapClient, longestGapMs, startGapClients } from './commit-gap.ts';

const RUNS = process.env.LOCKSTEP_LONG === undefined ? 5 : 20;
const ELECTION_TIMEOUT_MS = 1000;
const DRAIN_GAP_MS_MAX = 300;
/** What a loaded machine does to clients by itself must not count as the hand-over's. */
const NOISE_FACTOR = 4;
const NOISE_WATCHED_MS = 1000;
/** Watched for so long behind the moment the process is gone. */
const AFTER_MS = 700;

describe('clients of the other members while the leader goes', () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await Cluster.start();
    const setUp = await ZooKeeper.open(cluster.members[0]?.ports.zookeeper ?? 0);
    await setUp.call(Op.create, body.create('/load', ''));
    setUp.close();
  });
  afterAll(() => cluster?.stop());

  it(
    `SIGTERM, ${RUNS} times: the longest gap in commits is under ${DRAIN_GAP_MS_MAX} ms, no write fails`,
    async () => {
      const runs: Departure[] = [];
      for (let run = 0; run < RUNS; run++) {
        runs.push(await leaderGoes(cluster, 'SIGTERM', `drain-${run}`));
      }
      console.log(`leader drained → longest gap of a client: ${told(runs)}`);
      expect(runs.flatMap(({ clients }) => clients.flatMap(({ failures }) => failures))).toEqual(
        [],
      );
      for (const { gapMs, noiseMs } of runs) {
        expect(gapMs).toBeLessThan(Math.max(DRAIN_GAP_MS_MAX, NOISE_FACTOR * noiseMs));
      }
    },
    RUNS * 20_000,
  );

  it(
    `SIGKILL, ${RUNS} times: the longest gap in commits is under 2 × election timeout`,
    async () => {
      const runs: Departure[] = [];
      for (let run = 0; run < RUNS; run++) {
        runs.push(await leaderGoes(cluster, 'SIGKILL', `kill-${run}`));
      }
      console.log(`leader killed → longest gap of a client: ${told(runs)}`);
      const longest = Math.max(...runs.map(({ gapMs }) => gapMs));
      expect(longest).toBeLessThan(2 * ELECTION_TIMEOUT_MS);
    },
    RUNS * 20_000,
  );
});

function told(runs: readonly Departure[]): string {
  const gaps = runs.map(({ gapMs }) => Math.round(gapMs)).join(', ');
  const noise = runs.map(({ noiseMs }) => Math.round(noiseMs)).join(', ');
  return `${gaps} ms; in the second before: ${noise} ms`;
}

interface Departure {
  readonly gapMs: number;
  /** The same in the second before, while nothing was done to anybody. */
  readonly noiseMs: number;
  readonly clients: readonly GapClient[];
}

/** Ends the leader under load on the doors of the others, and starts it again afterwards. */
async function leaderGoes(
  cluster: Cluster,
  signal: 'SIGTERM' | 'SIGKILL',
  prefix: string,
): Promise<Departure> {
  const leader: Member = await cluster.leader();
  const others = cluster.members.filter((member) => member !== leader);
  const clients = startGapClients(others, prefix);
  await until(() => clients.every(({ acknowledgedMs }) => acknowledgedMs.length >= 20), 20_000);
  await pass(NOISE_WATCHED_MS);
  const fromMs = performance.now();
  await leader.stop(signal);
  await pass(AFTER_MS);
  const toMs = performance.now();
  await Promise.all(clients.map((client) => client.stop()));
  const gapMs = Math.max(...clients.map((client) => longestGapMs(client, fromMs, toMs)));
  const noise = clients.map((client) => longestGapMs(client, fromMs - NOISE_WATCHED_MS, fromMs));
  leader.start();
  await cluster.allHealthy();
  return { gapMs, noiseMs: Math.max(...noise), clients };
}
