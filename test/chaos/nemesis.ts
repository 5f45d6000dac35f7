import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { type Cluster, MAIN, type Member } from '../support/cluster.ts';
import { pass, until } from '../support/until.ts';
import type { SlowDisks, SmallDisks } from './disks.ts';
import type { PeerNetwork } from './peer-network.ts';
import type { Random } from './random.ts';

export const FAULTS = [
  'kill the leader',
  'kill a follower',
  'kill all',
  'pause the leader',
  'pause a follower',
  'pause a majority',
  'cut off the leader',
  'cut off a follower',
  'cut a link',
  'silence the leader',
  'silence a follower one way',
  'silence a link one way',
  'slow links',
  'flap a link',
  'fill a disk',
  'slow disks',
  'slow disk of the leader',
  'rolling restart',
  'replace a member',
  'upgrade a member',
] as const;
export type Fault = (typeof FAULTS)[number];

/** What the nemesis can reach. */
export interface Battlefield {
  readonly cluster: Cluster;
  readonly network: PeerNetwork;
  /** Raft ids, which handshakes carry: the network knows members by them. */
  readonly ids: Map<Member, number>;
  readonly smallDisks: SmallDisks | undefined;
  readonly slowDisks: SlowDisks | undefined;
  readonly stopping: () => boolean;
  readonly log: (line: string) => void;
}

/** Faults that another may meet in the middle: what they repair may be broken by somebody else. */
export const COMPANIONS = FAULTS.filter((fault) =>
  /^(pause a f|cut|silence|slow|flap)/.test(fault),
);

/** Breaks one thing after the other as its seed says, repairs it, and lets the cluster breathe. */
export class Nemesis {
  readonly counts = new Map<Fault, number>();
  readonly #field: Battlefield;

  constructor(field: Battlefield) {
    this.#field = field;
  }

  /** Until the run ends; the end of every fault is `heal`. */
  async run(faults: readonly Fault[], random: Random): Promise<void> {
    const { stopping, log } = this.#field;
    // Each of them once before any twice: a short run has every fault it can.
    let order: Fault[] = [];
    while (!stopping()) {
      await this.#rest(random.between(500, 2500));
      if (order.length === 0) order = shuffle(faults, random);
      const fault = order.pop();
      if (fault === undefined || stopping()) break;
      log(fault);
      this.counts.set(fault, (this.counts.get(fault) ?? 0) + 1);
      await this.#strike(fault, random);
    }
  }

  /**
   * Ends every fault; afterwards all members are of this release and answer with a majority behind
   * them.
   */
  async heal(withinMs = 60_000): Promise<void> {
    const { cluster, network, smallDisks, slowDisks } = this.#field;
    network.heal();
    for (const member of cluster.members) {
      slowDisks?.set(member.name, 0);
      smallDisks?.empty(member.name);
      if (member.running) member.signal('SIGCONT');
      else member.start();
    }
    const end = performance.now() + withinMs;
    for (const member of cluster.members) {
      await until(
        async () => {
          if (!member.running) member.start();
          return member.healthy();
        },
        Math.max(1, end - performance.now()),
        () => `${member.name} serves again: ${member.output.slice(-3000)}`,
      );
    }
    for (const member of cluster.members) if (member.main !== MAIN) await this.#upgrade(member);
  }

  async #strike(fault: Fault, random: Random): Promise<void> {
    const { cluster, network, smallDisks, slowDisks } = this.#field;
    // What another fault holds up for longer strikes anybody.
    const leader = await cluster.leader(5000).catch(() => random.pick(cluster.members));
    const follower = random.pick(cluster.members.filter((member) => member !== leader));
    const others = (of: Member): Member[] => cluster.members.filter((member) => member !== of);
    const [a, b] = shuffle(cluster.members, random) as [Member, Member];
    const id = (member: Member): number => this.#field.ids.get(member) ?? 0;
    const holdMs = random.between(800, 5000);
    switch (fault) {
      case 'kill the leader':
        return this.#kill([leader], holdMs / 2);
      case 'kill a follower':
        return this.#kill([follower], holdMs / 2);
      case 'kill all':
        return this.#kill(cluster.members, holdMs / 2);
      case 'pause the leader':
        return this.#pause([leader], holdMs);
      case 'pause a follower':
        return this.#pause([follower], holdMs);
      case 'pause a majority':
        return this.#pause([leader, follower], holdMs);
      case 'cut off the leader':
        for (const other of others(leader)) network.cut(id(leader), id(other));
        return this.#holdNetwork(holdMs);
      case 'cut off a follower':
        for (const other of others(follower)) network.cut(id(follower), id(other));
        return this.#holdNetwork(holdMs);
      case 'cut a link':
        network.cut(id(a), id(b));
        return this.#holdNetwork(holdMs);
      case 'silence the leader':
        for (const other of others(leader)) network.silence(id(leader), id(other));
        return this.#holdNetwork(holdMs);
      case 'silence a follower one way': {
        const from = random.chance(0.5) ? id(follower) : undefined;
        for (const other of others(follower)) {
          network.silence(id(follower), id(other), from ?? id(other));
        }
        return this.#holdNetwork(holdMs);
      }
      case 'silence a link one way':
        network.silence(id(a), id(b), id(a));
        return this.#holdNetwork(holdMs);
      case 'slow links':
        for (const [i, one] of cluster.members.entries()) {
          for (const other of cluster.members.slice(i + 1)) {
            network.delay(id(one), id(other), random.between(5, 250));
          }
        }
        return this.#holdNetwork(holdMs);
      case 'flap a link':
        for (let times = random.between(3, 10); times > 0; times--) {
          network.cut(id(a), id(b));
          await this.#rest(random.between(50, 400));
          network.heal();
          await this.#rest(random.between(50, 400));
        }
        return;
      case 'fill a disk':
        return this.#fill(random.chance(0.5) ? leader : follower, holdMs, smallDisks);
      case 'slow disks':
        for (const member of cluster.members) slowDisks?.set(member.name, random.between(5, 200));
        return this.#holdDisks(holdMs);
      case 'slow disk of the leader':
        slowDisks?.set(leader.name, random.between(200, 3000));
        return this.#holdDisks(holdMs);
      case 'rolling restart':
        return this.#rollingRestart();
      case 'replace a member':
        return this.#replace(random.chance(0.3) ? leader : follower);
      case 'upgrade a member':
        return this.#upgrade(
          cluster.members.find((member) => member.main !== MAIN),
          random.chance(0.7) ? 'SIGTERM' : 'SIGKILL',
        );
    }
  }

  async #kill(members: readonly Member[], ms: number): Promise<void> {
    await Promise.all(members.map((member) => member.stop('SIGKILL')));
    await this.#rest(ms);
    for (const member of members) if (!member.running) member.start();
    await this.#serve(members);
  }

  async #pause(members: readonly Member[], ms: number): Promise<void> {
    for (const member of members) member.signal('SIGSTOP');
    await this.#rest(ms);
    for (const member of members) member.signal('SIGCONT');
  }

  async #holdNetwork(ms: number): Promise<void> {
    await this.#rest(ms);
    this.#field.network.heal();
  }

  async #holdDisks(ms: number): Promise<void> {
    await this.#rest(ms);
    for (const { name } of this.#field.cluster.members) this.#field.slowDisks?.set(name, 0);
  }

  async #fill(member: Member, ms: number, disks: SmallDisks | undefined): Promise<void> {
    disks?.fill(member.name);
    await this.#rest(ms);
    disks?.empty(member.name);
    await this.#serve([member]);
  }

  async #rollingRestart(): Promise<void> {
    for (const member of this.#field.cluster.members) {
      await member.stop('SIGTERM');
      if (!member.running) member.start();
      await this.#serve([member]);
    }
  }

  /** A member is lost with its directory; a new one takes its name and place. */
  async #replace(member: Member): Promise<void> {
    const { cluster, ids } = this.#field;
    const through = cluster.members.find((other) => other !== member);
    if (through === undefined) return;
    const peer = `127.0.0.1:${member.peerPort}`;
    await member.stop('SIGKILL');
    const newcomer = await cluster.newcomer(member);
    await cluster.forget(member);
    newcomer.outputMax = member.outputMax;
    // Another fault may have taken the majority away: an operator looks, and tries again.
    const listed = async () => {
      const list = await lockstep(through, 'list', '--json');
      return list === '' ? undefined : list.includes(peer);
    };
    await until(
      async () => {
        await lockstep(through, 'remove', member.name);
        return (await listed()) === false;
      },
      60_000,
      () => `${member.name} is removed`,
    );
    await until(
      async () => {
        await lockstep(through, 'add', newcomer.name, '--peer', peer);
        return (await listed()) === true;
      },
      60_000,
      () => `${newcomer.name} is added`,
    );
    newcomer.start();
    await until(
      async () => (await lockstep(through, 'promote', newcomer.name)).includes('votes'),
      60_000,
      () => `${newcomer.name} gets its vote: ${newcomer.output.slice(-3000)}`,
    );
    cluster.admit(newcomer);
    await this.#serve([newcomer]);
    ids.set(newcomer, (await newcomer.status(5000))?.self.id ?? 0);
  }

  /** From the previous release to this one, with or without time to say goodbye. */
  async #upgrade(member: Member | undefined, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    if (member === undefined) return this.#rollingRestart();
    await member.stop(signal);
    member.main = MAIN;
    member.start();
    await this.#serve([member]);
  }

  async #serve(members: readonly Member[]): Promise<void> {
    for (const member of members) {
      await until(
        () => member.healthy(),
        60_000,
        () => `${member.name} serves again: ${member.output.slice(-3000)}`,
      );
    }
  }

  /** Shorter when the run ends. */
  async #rest(ms: number): Promise<void> {
    const end = performance.now() + ms;
    while (performance.now() < end && !this.#field.stopping()) await pass(Math.min(50, ms));
  }
}

/** What the command prints; nothing when it fails. */
async function lockstep(through: Member, ...words: string[]): Promise<string> {
  const admin = ['--admin', `127.0.0.1:${through.ports.admin}`];
  const run = promisify(execFile)(process.execPath, [MAIN, 'member', ...words, ...admin]);
  return run.then(
    ({ stdout }) => stdout,
    () => '',
  );
}

function shuffle<T>(items: readonly T[], random: Random): T[] {
  const rest = [...items];
  const order: T[] = [];
  while (rest.length > 0) order.push(...rest.splice(random.below(rest.length), 1));
  return order;
}
