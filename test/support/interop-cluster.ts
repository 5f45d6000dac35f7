import { Cluster } from './cluster.ts';

/**
 * Runs once before the tests with foreign clients: three real members, whose addresses the tests
 * find in the variables that also let them run against a cluster started by hand.
 */
export default async function setUp(): Promise<() => Promise<void>> {
  const cluster = await Cluster.start();
  const addresses = (door: 'redis' | 'zookeeper'): string =>
    cluster.members.map(({ ports }) => `127.0.0.1:${ports[door]}`).join(',');
  process.env.LOCKSTEP_REDIS ??= addresses('redis');
  process.env.LOCKSTEP_ZOOKEEPER ??= addresses('zookeeper');
  return () => cluster.stop();
}
