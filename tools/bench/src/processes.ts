import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Servers of one kind, started for a run and stopped by `stop`. */
export interface Servers {
  readonly name: string;
  readonly ports: readonly number[];
  stop(): Promise<void>;
}

class ServerGroup {
  readonly directory = mkdtempSync(join(tmpdir(), 'lockstep-bench-'));
  readonly #children: ChildProcess[] = [];

  start(command: string, args: readonly string[], env: Record<string, string> = {}): void {
    const child = spawn(command, args, {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...process.env, ...env },
      cwd: this.directory,
    });
    let tail = '';
    child.stderr?.on('data', (chunk: Buffer) => {
      tail = (tail + chunk.toString()).slice(-2000);
    });
    child.on('exit', (code) => {
      if (code !== 0 && code !== null) console.error(`${command} exited with ${code}: ${tail}`);
    });
    child.on('error', (error) => console.error(`${command}: ${error.message}`));
    this.#children.push(child);
  }

  async stop(): Promise<void> {
    await Promise.all(
      this.#children.map(
        (child) =>
          new Promise((resolve) => {
            if (child.exitCode !== null || child.signalCode !== null) return resolve(undefined);
            child.once('exit', resolve);
            // Orderly, so that profiles asked for with --node-args are written.
            child.kill('SIGTERM');
            setTimeout(() => child.kill('SIGKILL'), 6000).unref();
          }),
      ),
    );
    rmSync(this.directory, { recursive: true, force: true });
  }
}

/** Resolves when something listens on the port. */
export function waitForPort(port: number, withinMs = 30_000): Promise<void> {
  const until = performance.now() + withinMs;
  return new Promise((resolve, reject) => {
    const attempt = (): void => {
      const socket = connect(port, '127.0.0.1');
      socket.once('connect', () => {
        socket.destroy();
        resolve();
      });
      socket.once('error', () => {
        if (performance.now() > until) reject(new Error(`nothing listens on ${port}`));
        else setTimeout(attempt, 100);
      });
    };
    attempt();
  });
}

const LOCKSTEP = fileURLToPath(new URL('../../../apps/lockstep/dist/main.js', import.meta.url));

export interface LockstepServers extends Servers {
  readonly etcd: readonly number[];
  readonly zookeeper: readonly number[];
  readonly redis: readonly number[];
  readonly admin: readonly number[];
}

/** Three members with data on disk. Extra node flags (`--cpu-prof`) go to every member. */
export async function startLockstep(base: number, nodeArgs: string[]): Promise<LockstepServers> {
  const group = new ServerGroup();
  const port = (member: number, door: number): number => base + member * 10 + door;
  const members = [0, 1, 2];
  const cluster = members.map((m) => `n${m + 1}=127.0.0.1:${port(m, 0)}`).join(',');
  for (const m of members) {
    const doors = ['peer', 'etcd', 'zookeeper', 'redis', 'admin'].flatMap((door, i) => [
      `--listen-${door}`,
      `127.0.0.1:${port(m, i)}`,
    ]);
    const name = `n${m + 1}`;
    const where = ['--name', name, '--data-dir', join(group.directory, name)];
    group.start(process.execPath, [
      ...[...nodeArgs, LOCKSTEP, 'serve', ...where, '--initial-cluster', cluster, ...doors],
      ...['--log-level', 'warn'],
    ]);
  }
  const portsOf = (door: number): number[] => members.map((m) => port(m, door));
  await Promise.all([1, 2, 3, 4].flatMap((door) => portsOf(door).map((each) => waitForPort(each))));
  await waitForHealth(portsOf(4));
  return {
    name: 'lockstep',
    ports: portsOf(0),
    etcd: portsOf(1),
    zookeeper: portsOf(2),
    redis: portsOf(3),
    admin: portsOf(4),
    stop: () => group.stop(),
  };
}

async function waitForHealth(admin: readonly number[]): Promise<void> {
  for (const port of admin) {
    for (let tries = 0; ; tries++) {
      const answer = await fetch(`http://127.0.0.1:${port}/health`).catch(() => undefined);
      if (answer?.ok) break;
      if (tries > 100) throw new Error(`the member with admin port ${port} is not healthy`);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}

export async function startEtcd(base: number): Promise<Servers> {
  const group = new ServerGroup();
  const members = [0, 1, 2];
  const cluster = members.map((m) => `e${m}=http://127.0.0.1:${base + m * 10}`).join(',');
  for (const m of members) {
    const peer = `http://127.0.0.1:${base + m * 10}`;
    const client = `http://127.0.0.1:${base + m * 10 + 1}`;
    group.start('etcd', [
      ...['--name', `e${m}`, '--data-dir', join(group.directory, `e${m}`)],
      ...['--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer],
      ...['--listen-client-urls', client, '--advertise-client-urls', client],
      ...['--initial-cluster', cluster, '--log-level', 'error'],
    ]);
  }
  const ports = members.map((m) => base + m * 10 + 1);
  await Promise.all(ports.map((each) => waitForPort(each)));
  await new Promise((resolve) => setTimeout(resolve, 2000));
  return { name: 'etcd', ports, stop: () => group.stop() };
}

export async function startZooKeeper(base: number): Promise<Servers> {
  const group = new ServerGroup();
  const members = [0, 1, 2];
  for (const m of members) {
    const directory = join(group.directory, `z${m}`);
    mkdirSync(directory, { recursive: true });
    writeFileSync(join(directory, 'myid'), String(m + 1));
    const servers = members.map(
      (each) => `server.${each + 1}=127.0.0.1:${base + each * 10}:${base + each * 10 + 1}`,
    );
    const lines = ['tickTime=2000', 'initLimit=10', 'syncLimit=5', 'maxClientCnxns=0'];
    lines.push(`dataDir=${directory}`, `clientPort=${base + m * 10 + 2}`);
    lines.push('clientPortAddress=127.0.0.1', 'admin.enableServer=false', ...servers);
    const config = join(directory, 'zoo.cfg');
    writeFileSync(config, `${lines.join('\n')}\n`);
    const log = ['-Dzookeeper.root.logger=WARN,CONSOLE', '-Dzookeeper.4lw.commands.whitelist=*'];
    const classes = '/usr/share/java/*:/etc/zookeeper/conf';
    const main = 'org.apache.zookeeper.server.quorum.QuorumPeerMain';
    group.start('java', ['-Xmx512m', ...log, '-cp', classes, main, config]);
  }
  const ports = members.map((m) => base + m * 10 + 2);
  await Promise.all(ports.map((each) => waitForPort(each)));
  await new Promise((resolve) => setTimeout(resolve, 4000));
  return { name: 'zookeeper', ports, stop: () => group.stop() };
}

/** One server that syncs every write, the nearest Redis has to a durable lock. */
export async function startRedis(port: number): Promise<Servers> {
  const group = new ServerGroup();
  group.start('redis-server', [
    ...['--port', String(port), '--bind', '127.0.0.1', '--dir', group.directory],
    ...['--appendonly', 'yes', '--appendfsync', 'always', '--save', ''],
  ]);
  await waitForPort(port);
  return { name: 'redis', ports: [port], stop: () => group.stop() };
}
