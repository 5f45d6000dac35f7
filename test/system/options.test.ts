import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Cluster } from '../support/cluster.ts';
import { Etcd } from '../support/etcd.ts';
import { until } from '../support/until.ts';

const MAIN = fileURLToPath(new URL('../../apps/lockstep/dist/main.js', import.meta.url));

describe('cluster options', () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await Cluster.start();
  });
  afterAll(() => cluster?.stop());

  const option = (member: number, ...words: string[]) => {
    const admin = `127.0.0.1:${cluster.members[member]?.ports.admin}`;
    const args = [MAIN, 'option', '--admin', admin, ...words];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, {
      encoding: 'utf8',
      timeout: 20_000,
    });
    return `${status} ${stdout}${stderr}`.trim();
  };

  it('are set through any member, for all, and checked before', () => {
    expect(option(0, 'lock-barging')).toBe('0 when-idle');
    expect(option(1, 'lock-barging', 'no')).toBe('0 lock-barging is no; it was when-idle');
    expect(option(2, 'lock-barging')).toBe('0 no');
    expect(option(0, 'lock-barging', 'maybe')).toMatch(
      /^2 .*'maybe' is not accepted; accepts no or when-idle or yes$/,
    );
    expect(option(0, 'redis-lock-queue-max', '1e3')).toMatch(/^2 .*accepts 0 to 1000000$/);
    expect(option(0, 'no-such', '1')).toMatch(/^2 .*there are .*lock-barging/);
    expect(option(0)).toMatch(/redis-lock-queue-max.*10000/);
  });

  it('say how much history the leader keeps, through whatever member it was written', async () => {
    const etcd = cluster.members.map(({ ports }) => new Etcd(ports.etcd));
    const revisions: number[] = [];
    for (let i = 0; i < 60; i++) {
      const { header } = await etcd[i % 3]!.put('history', `${i}`);
      revisions.push(Number(header?.revision));
    }
    const key = Buffer.from('history');
    const valueAt = async (revision: number) =>
      (await etcd[0]!.range({ key, revision })).kvs[0]?.value.toString();
    expect(await valueAt(revisions[0]!)).toBe('0');
    expect(option(0, 'etcd-auto-compaction-revisions', '50')).toMatch(/^0 .* is 50/);
    const isCompacted = () =>
      valueAt(revisions[9]!).then(
        () => false,
        () => true,
      );
    await until(isCompacted, 20_000, () => 'compacted');
    await expect(valueAt(revisions[9]!)).rejects.toThrow(/required revision has been compacted/);
    expect(await valueAt(revisions[10]!)).toBe('10');
    for (const client of etcd) client.close();
  });
});
