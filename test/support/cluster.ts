import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ClusterStatus, LockTable, MemberStatus } from '../../packages/admin/src/index.ts';
import { freePorts } from './ports.ts';
import { until } from './until.ts';

/** This build. */
export const MAIN = fileURLToPath(new URL('../../apps/lockstep/dist/main.js', import.meta.url));

export interface MemberPorts {
  readonly peer: number;
  readonly etcd: number;
  readonly zookeeper: number;
  readonly redis: number;
  readonly admin: number;
}

/** One real process of `lockstep serve`. */
export class Member {
  readonly name: string;
  readonly ports: MemberPorts;
  /** Where the others reach its peer listener. */
  readonly peerPort: number;
  /** Words after `lockstep`. */
  readonly args: readonly string[];
  readonly #env: NodeJS.ProcessEnv;
  #process: ChildProcess | undefined;
  /** The end of what it printed, over all its processes. */
  output = '';
  outputMax = 20_000;
  /** How often it ended with an error of its own. */
  failures = 0;
  /** Another build's entry point, for upgrades. */
  main = MAIN;
  /** Exit code of the last process that ended by itself; undefined while one runs. */
  exitCode: number | undefined;

  constructor(
    name: string,
    ports: MemberPorts,
    args: readonly string[],
    env: NodeJS.ProcessEnv = {},
    peerPort: number = ports.peer,
  ) {
    this.name = name;
    this.ports = ports;
    this.peerPort = peerPort;
    this.args = ['serve', ...args];
    this.#env = env;
  }

  get running(): boolean {
    return this.#process !== undefined;
  }

  get pid(): number {
    const pid = this.#process?.pid;
    if (pid === undefined) throw new Error(`${this.name} is not running`);
    return pid;
  }

  start(): void {
    const child = spawn(process.execPath, [this.main, ...this.args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...this.#env },
    });
    this.#process = child;
    this.exitCode = undefined;
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk: Buffer) => {
        this.output = (this.output + chunk.toString()).slice(-this.outputMax);
      });
    }
    child.once('exit', (code) => {
      this.exitCode = code ?? undefined;
      if (code !== null && code !== 0) {
        this.failures++;
        console.error(`${this.name} exited with ${code}: ${this.output.slice(-5000)}`);
      }
      if (this.#process === child) this.#process = undefined;
    });
  }

  /** Sends a signal to this process only. */
  signal(signal: NodeJS.Signals): void {
    this.#process?.kill(signal);
  }

  /** Ends the process and waits until it is gone. */
  async stop(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const child = this.#process;
    if (child === undefined) return;
    const gone = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGCONT');
    child.kill(signal);
    await gone;
  }

  /** This member's own view; undefined when it does not answer within `timeoutMs`. */
  async status(timeoutMs = 1000): Promise<ClusterStatus | undefined> {
    const answer = await fetch(`http://127.0.0.1:${this.ports.admin}/status`, {
      signal: AbortSignal.timeout(timeoutMs),
    }).catch(() => undefined);
    return answer?.ok ? ((await answer.json()) as ClusterStatus) : undefined;
  }

  async locks(): Promise<LockTable> {
    const answer = await fetch(`http://127.0.0.1:${this.ports.admin}/locks`);
    if (!answer.ok) throw new Error(`${this.name}: /locks ${answer.status}`);
    return (await answer.json()) as LockTable;
  }

  /** True when a majority answers through this member. */
  async healthy(timeoutMs = 1000): Promise<boolean> {
    const answer = await fetch(`http://127.0.0.1:${this.ports.admin}/health`, {
      signal: AbortSignal.timeout(timeoutMs),
    }).catch(() => undefined);
    return answer?.ok === true;
  }
}

/** Where members are not just where they listen, or run in surroundings of their own. */
export interface Surroundings {
  /** The port at which the others reach the peer listener of that port. */
  readonly peerProxy?: (name: string, port: number) => Promise<number>;
  readonly dataDirectory?: (name: string, directory: string) => string;
  readonly env?: (name: string) => NodeJS.ProcessEnv;
  /** The build that they start as; left out: this one. */
  readonly main?: string;
}

function portsFrom(ports: readonly number[]): MemberPorts {
  const [peer = 0, etcd = 0, zookeeper = 0, redis = 0, admin = 0] = ports;
  return { peer, etcd, zookeeper, redis, admin };
}

function flagsOf(name: string, ports: MemberPorts): string[] {
  const doors = Object.entries(ports).flatMap(([door, port]) => [
    `--listen-${door}`,
    `127.0.0.1:${port}`,
  ]);
  return ['--name', name, ...doors];
}

/** Members as processes on loopback with data in a temporary directory. */
export class Cluster {
  readonly directory: string;
  /** Those that are members: a removed one is taken out by `forget`. */
  readonly members: Member[];
  readonly #flags: readonly string[];
  readonly #surroundings: Surroundings;
  #newcomers = 0;

  private constructor(
    directory: string,
    members: readonly Member[],
    flags: readonly string[],
    surroundings: Surroundings,
  ) {
    this.directory = directory;
    this.members = [...members];
    this.#flags = flags;
    this.#surroundings = surroundings;
  }

  static async start(
    count = 3,
    flags: readonly string[] = [],
    surroundings: Surroundings = {},
  ): Promise<Cluster> {
    const { peerProxy, dataDirectory, env, main = MAIN } = surroundings;
    const directory = mkdtempSync(join(tmpdir(), 'lockstep-test-'));
    const ports = await freePorts(count * 5);
    const portsOf = (i: number): MemberPorts => portsFrom(ports.slice(i * 5));
    const names = Array.from({ length: count }, (_, i) => `n${i + 1}`);
    const peers = await Promise.all(
      names.map((name, i) => peerProxy?.(name, portsOf(i).peer) ?? portsOf(i).peer),
    );
    const initial = names.map((name, i) => `${name}=127.0.0.1:${peers[i]}`).join(',');
    const members = names.map((name, i) => {
      const data = dataDirectory?.(name, directory) ?? join(directory, name);
      const where = ['--data-dir', data, '--initial-cluster', initial];
      const advertised = ['--advertise-peer', `127.0.0.1:${peers[i]}`];
      const args = [...where, ...advertised, ...flagsOf(name, portsOf(i)), ...flags];
      return new Member(name, portsOf(i), args, env?.(name), peers[i]);
    });
    const cluster = new Cluster(directory, members, flags, surroundings);
    for (const member of members) {
      member.main = main;
      member.start();
    }
    await cluster.allHealthy();
    return cluster;
  }

  /**
   * A member that is to join: not added to the cluster yet, not started. Given a former one, it
   * takes that one's name and ports, and a directory of its own.
   */
  async newcomer(former?: Member): Promise<Member> {
    this.#newcomers += 1;
    const name = former?.name ?? `j${this.#newcomers}`;
    const ports = former?.ports ?? portsFrom(await freePorts(5));
    const { peerProxy, env } = this.#surroundings;
    const peerPort = former?.peerPort ?? (await peerProxy?.(name, ports.peer)) ?? ports.peer;
    const all = [...this.members.filter((member) => member !== former), { name, peerPort }];
    const initial = all.map((each) => `${each.name}=127.0.0.1:${each.peerPort}`).join(',');
    const directory = join(this.directory, `${name}-${this.#newcomers}`);
    const args = [
      ...['--data-dir', directory, '--initial-cluster', initial],
      ...['--initial-cluster-state', 'existing', '--advertise-peer', `127.0.0.1:${peerPort}`],
      ...[...flagsOf(name, ports), ...this.#flags],
    ];
    return new Member(name, ports, args, env?.(name), peerPort);
  }

  /** Counts a member that was added and started among the members. */
  admit(member: Member): void {
    this.members.push(member);
  }

  /** Forgets a member that was removed; ends its process if it still runs. */
  async forget(member: Member): Promise<void> {
    this.members.splice(this.members.indexOf(member), 1);
    await member.stop();
  }

  /** Waits until every member answers with a majority behind it. */
  async allHealthy(withinMs = 20_000): Promise<void> {
    for (const member of this.members) {
      await until(
        () => member.healthy(),
        withinMs,
        () => `${member.name}: ${member.output}`,
      );
    }
  }

  /** The member that leads in the highest term known to those that answer. */
  async leader(withinMs = 10_000): Promise<Member> {
    let found: Member | undefined;
    await until(async () => {
      const views = await Promise.all(this.members.map((member) => member.status(500)));
      let best: MemberStatus | undefined;
      views.forEach((view, i) => {
        if (view?.self.role !== 'leader' || (best !== undefined && best.term > view.self.term)) {
          return;
        }
        best = view.self;
        found = this.members[i];
      });
      return found !== undefined;
    }, withinMs);
    if (found === undefined) throw new Error('no leader');
    return found;
  }

  async follower(): Promise<Member> {
    const leader = await this.leader();
    const follower = this.members.find((member) => member !== leader && member.running);
    if (follower === undefined) throw new Error('no follower');
    return follower;
  }

  /** Waits until all members have applied the same index; gives their state hashes. */
  async stateHashes(withinMs = 10_000): Promise<string[]> {
    let hashes: string[] = [];
    await until(async () => {
      const views = await Promise.all(this.members.map((member) => member.status()));
      const indexes = new Set(views.map((view) => view?.self.appliedIndex));
      hashes = views.map((view) => view?.self.stateHash ?? 'no answer');
      return indexes.size === 1 && !indexes.has(undefined);
    }, withinMs);
    return hashes;
  }

  async stop(): Promise<void> {
    await Promise.all(this.members.map((member) => member.stop()));
    rmSync(this.directory, { recursive: true, force: true });
  }
}
