import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Cluster, type Member } from '../support/cluster.ts';
import { Etcd } from '../support/etcd.ts';
import { until } from '../support/until.ts';

const run = (command: string, ...args: string[]): boolean =>
  spawnSync(command, args, { timeout: 10_000 }).status === 0;

/** Room for the first two segments of the log and not for the third. */
const SMALL = 'size=60m';

let cluster: Cluster;
let full: Member;
let directory: string;
let isMounted = false;

/** One member's data on a small file system of its own; only root can make one. */
beforeAll(async () => {
  cluster = await Cluster.start();
  full = await cluster.leader();
  directory = join(cluster.directory, full.name);
  await full.stop('SIGTERM');
  const aside = `${directory}-aside`;
  cpSync(directory, aside, { recursive: true });
  rmSync(directory, { recursive: true });
  mkdirSync(directory);
  isMounted = run('mount', '-t', 'tmpfs', '-o', SMALL, 'tmpfs', directory);
  cpSync(aside, directory, { recursive: true });
  full.start();
  await cluster.allHealthy();
});

afterAll(async () => {
  await full?.stop();
  if (isMounted) run('umount', directory);
  await cluster?.stop();
});

const healthOf = async (): Promise<string> => (await full.status())?.self.health ?? 'no answer';

describe('a member whose disk is full', () => {
  it('does not lead, waits, and goes on by itself when there is space', async ({ skip }) => {
    skip(!isMounted, 'only root may mount a small file system');
    const other = cluster.members.find((member) => member !== full)!;
    const etcd = new Etcd(other.ports.etcd);
    const value = 'x'.repeat(1024 * 1024);
    let written = 0;
    const write = async (): Promise<void> => {
      await etcd.put(`full/${written % 8}`, value);
      written += 1;
    };
    for (let i = 0; i < 30; i++) await write();
    await until(
      async () => (await healthOf()) === 'out of space',
      10_000,
      () => full.output,
    );
    const { self } = (await other.status())!;
    expect((await cluster.leader()).name).not.toBe(full.name);
    await write();
    const views = (await (await cluster.leader()).status())!.self.peers;
    expect(views.some((peer) => peer.match < self.lastIndex)).toBe(true);
    expect(full.running, 'it waits').toBe(true);
    expect(run('mount', '-o', 'remount,size=400m', directory)).toBe(true);
    await until(
      async () => (await healthOf()) === 'ok',
      15_000,
      () => full.output,
    );
    await write();
    const hashes = await cluster.stateHashes(20_000);
    expect(new Set(hashes).size).toBe(1);
    etcd.close();
  });
});
