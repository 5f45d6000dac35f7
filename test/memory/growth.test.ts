import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Cluster } from '../support/cluster.ts';
import { Redis } from '../support/redis.ts';

const MEBIBYTE = 1024 * 1024;
/** The full length belongs to the long run; the short one finds gross leaks. */
const OVERWRITE_MS = process.env.LOCKSTEP_LONG === '1' ? 60_000 : 30_000;

describe('memory', () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await Cluster.start();
  });
  afterAll(() => cluster?.stop());

  const resident = async (): Promise<number[]> =>
    Promise.all(
      cluster.members.map(async (member) => {
        const answer = await fetch(`http://127.0.0.1:${member.ports.admin}/metrics`);
        const text = await answer.text();
        return Number(/^process_resident_memory_bytes (\S+)$/m.exec(text)?.[1]) / MEBIBYTE;
      }),
    );

  it('100,000 small keys: under 300 MiB a member', async () => {
    const client = await Redis.open((await cluster.leader()).ports.redis);
    for (let batch = 0; batch < 100; batch++) {
      const commands = Array.from({ length: 1000 }, (_, i) => [
        ...['SET', `key:${batch * 1000 + i}`, `value-${i}`],
      ]);
      await Promise.all(client.pipeline(commands));
    }
    expect(await client.call('DBSIZE')).toBe(100_000);
    const sizes = await resident();
    console.log(`100,000 keys: ${sizes.map((size) => size.toFixed(0)).join(', ')} MiB`);
    for (const size of sizes) expect(size).toBeLessThan(300);
    client.close();
  }, 120_000);

  it('overwriting 10,000 keys: less than 32 MiB more after second 20', async () => {
    const client = await Redis.open((await cluster.leader()).ports.redis);
    const startedAt = performance.now();
    let warm: number[] | undefined;
    let count = 0;
    while (performance.now() - startedAt < OVERWRITE_MS) {
      const commands = Array.from({ length: 500 }, () => {
        count++;
        return ['SET', `key:${count % 10_000}`, `${count}`.padEnd(256, 'x')];
      });
      await Promise.all(client.pipeline(commands));
      if (warm === undefined && performance.now() - startedAt > 20_000) warm = await resident();
    }
    const sizes = await resident();
    const grown = sizes.map((size, i) => size - (warm?.[i] ?? 0));
    console.log(
      `${count} overwrites: ${sizes.map((size) => size.toFixed(0)).join(', ')} MiB, ` +
        `since second 20: ${grown.map((size) => size.toFixed(1)).join(', ')} MiB`,
    );
    for (const growth of grown) expect(growth).toBeLessThan(32);
    client.close();
  }, 180_000);
});
