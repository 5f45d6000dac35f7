import { createHistogram } from 'node:perf_hooks';
import { RespConnection, respCommand } from './redis-client.ts';

export interface HandOver {
  /** Release sent → next holder told. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** One uncontended SET, same connection, same run: one commit. */
  readonly commitP50Ms: number;
}

const ask = (connection: RespConnection, ...words: string[]): Promise<string> =>
  new Promise((resolve) => connection.send(respCommand(words), resolve));

/** Two owners hand one lock to and fro; measures from release to the waiter's reply. */
export async function measureHandOver(port: number, rounds: number): Promise<HandOver> {
  const owners = [new RespConnection(port), new RespConnection(port)];
  const handOver = createHistogram();
  const commit = createHistogram();
  const acquire = ['LOCK', 'ACQUIRE', 'bench:hand-over'];
  let holder = 0;
  const [first] = owners;
  if (first === undefined) throw new Error('no connection');
  await ask(first, ...acquire, 'owner-0', 'PX', '30000');
  for (let round = 0; round < rounds; round++) {
    const next = 1 - holder;
    const [from, to] = [owners[holder], owners[next]];
    if (from === undefined || to === undefined) break;
    const told = ask(to, ...acquire, `owner-${next}`, 'PX', '30000', 'BLOCK', '10000');
    // One commit of the holder in between: the waiter is queued before the release.
    const setAt = performance.now();
    await ask(from, 'SET', 'bench:commit', String(round));
    commit.record(Math.max(1, Math.round((performance.now() - setAt) * 1000)));
    const releasedAt = performance.now();
    const released = ask(from, 'LOCK', 'RELEASE', 'bench:hand-over', `owner-${holder}`);
    const reply = await told;
    if (!reply.startsWith(':')) throw new Error(`hand-over answered ${reply}`);
    handOver.record(Math.max(1, Math.round((performance.now() - releasedAt) * 1000)));
    await released;
    holder = next;
  }
  for (const owner of owners) owner.close();
  return {
    p50Ms: handOver.percentile(50) / 1000,
    p99Ms: handOver.percentile(99) / 1000,
    commitP50Ms: commit.percentile(50) / 1000,
  };
}
