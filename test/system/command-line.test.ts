import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Cluster } from '../support/cluster.ts';
import { Etcd } from '../support/etcd.ts';
import { freePorts } from '../support/ports.ts';

const MAIN = fileURLToPath(new URL('../../apps/lockstep/dist/main.js', import.meta.url));

const lockstep = (...args: string[]) =>
  spawnSync(process.execPath, [MAIN, ...args], { encoding: 'utf8', timeout: 20_000 });

describe('bad flags', () => {
  it.each([
    [['serve', '--election-timeout', '5ms'], /--election-timeout: '5ms' .*100ms to 60s/],
    [['serve', '--listen-redis', 'nowhere'], /--listen-redis: 'nowhere' .*host:port/],
    [['serve', '--initial-cluster', 'n1'], /--initial-cluster: 'n1' .*name=host:port/],
    [['serve', '--name', 'n9', '--initial-cluster', 'n1=127.0.0.1:1'], /--name: 'n9' .*n1/],
    [['demo', '--members', '9'], /--members.*9.*1 to 5/],
    [['member', 'add', 'a b', '--peer', 'h:1'], /name: 'a b' .*letters/],
    [['member', 'add', 'a\u0007', '--peer', 'h:1'], /name: .*letters/],
    [['serve', '--listen-http', '1'], /unknown option '--listen-http'/],
  ])('%j: one line that names flag, value and range; exit 2', (args, message) => {
    const { status, stderr } = lockstep(...args);
    expect(stderr).toMatch(message);
    expect(stderr.trim().split('\n').length).toBeLessThanOrEqual(2);
    expect(status).toBe(2);
  });
});

describe('a data directory that cannot be', () => {
  const root = mkdtempSync(join(tmpdir(), 'lockstep-test-'));
  const file = join(root, 'file');
  writeFileSync(file, 'not a directory');
  afterAll(() => rmSync(root, { recursive: true, force: true }));

  it.each([
    ['/proc/nope', /data directory \/proc\/nope cannot be used: \/proc\/nope cannot be made/],
    ['/proc/nope/deeper', /data directory \/proc\/nope\/deeper cannot be used/],
    [file, /cannot be used: .*file is not a directory/],
    [join(file, 'below'), /below cannot be used: .*file is not a directory/],
  ])('%s: is named with the reason and the next step', (path, message) => {
    const { status, stderr } = lockstep('serve', '--data-dir', path);
    expect(stderr).toMatch(message);
    expect(stderr).toContain('--data-dir');
    expect(status).toBe(1);
  });
});

describe('a port that is in use', () => {
  it.each(['peer', 'etcd', 'zookeeper', 'redis', 'admin'])('%s: is named', async (door) => {
    const [taken = 0, ...free] = await freePorts(6);
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(taken, '127.0.0.1', resolve));
    const directory = mkdtempSync(join(tmpdir(), 'lockstep-test-'));
    const doors = ['peer', 'etcd', 'zookeeper', 'redis', 'admin'].flatMap((each, i) => [
      `--listen-${each}`,
      `127.0.0.1:${each === door ? taken : free[i]}`,
    ]);
    const { status, stderr } = lockstep('serve', '--data-dir', directory, ...doors);
    expect(stderr).toContain(`127.0.0.1:${taken} is in use`);
    expect(stderr).toContain(`--listen-${door}`);
    expect(status).toBe(1);
    await new Promise((resolve) => server.close(resolve));
    rmSync(directory, { recursive: true, force: true });
  });
});

describe('a damaged log', () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await Cluster.start(1);
  });
  afterAll(() => cluster?.stop());

  it('of a single member: it refuses to start and says which file and offset', async () => {
    const [member] = cluster.members;
    if (member === undefined) throw new Error('no member');
    const etcd = new Etcd(member.ports.etcd);
    for (let i = 0; i < 50; i++) await etcd.put(`damaged/${i}`, 'a value to be found in the file');
    etcd.close();
    await member.stop('SIGKILL');
    const log = join(cluster.directory, member.name, 'wal');
    const name = readdirSync(log).find((each) => each.endsWith('.wal')) ?? '';
    const path = join(log, name);
    const bytes = readFileSync(path);
    const at = bytes.indexOf('damaged/49');
    expect(at).toBeGreaterThan(0);
    // What was behind is gone: neither the log nor, perhaps, the image holds it.
    writeFileSync(path, bytes.subarray(0, at));
    const { status, stderr, stdout } = lockstep(...member.args);
    const said = stderr + stdout;
    expect(said).toContain(name);
    expect(said).toMatch(/offset \d+/);
    expect(status).not.toBe(0);
  });
});

describe('the command that npm links', () => {
  it('is in the repository, so that npm ci before the first build can link it', () => {
    const linked = fileURLToPath(new URL('../../apps/lockstep/bin/lockstep.js', import.meta.url));
    const { status, stdout } = spawnSync(linked, ['--version'], { encoding: 'utf8' });
    expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
    expect(status).toBe(0);
  });
});

describe('lockstep lock', () => {
  let cluster: Cluster;
  let door: string;
  beforeAll(async () => {
    cluster = await Cluster.start(1);
    door = `127.0.0.1:${cluster.members[0]?.ports.redis}`;
  });
  afterAll(() => cluster?.stop());

  it('ends when the door refuses its password', () => {
    const { status, stderr } = lockstep('lock', '--redis', door, '--password', 'x', 'a', 'true');
    expect(stderr).toContain('AUTH');
    expect(status).toBe(1);
  });

  it('goes on to the next door when one does not answer', () => {
    const doors = `127.0.0.1:1,${door}`;
    const show = [process.execPath, '-p', 'process.env.LOCKSTEP_TOKEN'];
    const { status, stdout } = lockstep('lock', '--redis', doors, 'a', '--', ...show);
    expect(stdout).toMatch(/^\d+\n$/);
    expect(status).toBe(0);
  });

  it('says that options come before the name', () => {
    const { status, stderr } = lockstep('lock', 'a', '--redis', door, '--', 'true');
    expect(stderr).toContain("'--redis' is not accepted; options come before the name");
    expect(status).toBe(2);
  });
});
