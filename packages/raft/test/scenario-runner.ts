import type { MemberId } from '@lockstep/model';
import type { Configuration } from '../src/index.ts';
import { describe, ScenarioCluster } from './scenario-cluster.ts';

/**
 * Runs a scenario file. A line that begins with `> ` is a command; the lines below it, up to the
 * next blank line, are its complete output. Lines that begin with `#` are prose. Commands:
 *
 *   cluster voters=1,2,3 learners=4 NAME=NUMBER …   begin, with settings of the core
 *   elect ID                                        campaign and settle, only the result is shown
 *   cut ID · join ID                                lose, or again carry, all its messages
 *   campaign ID · tick ID COUNT · propose ID WORD … · read ID COUNTER · transfer ID TARGET
 *   deliver [FROM->TO] [COUNT] · drop [FROM->TO] · settle      messages, oldest first
 *   slow-disk ID · fast-disk ID · persist ID [COUNT]           when tasks become durable
 *   compact ID · install ID FROM · report ID TARGET ok|failed  snapshots
 *   damage ID LOST · trust ID      its log loses so many entries, and is doubted until `trust`
 *   link-lost ID TICKS · unreachable ID TARGET · restart ID
 *   status ID · log ID
 */
export function runScenario(text: string): string {
  const runner = new ScenarioRunner();
  const output: string[] = [];
  for (const line of text.split('\n')) {
    if (line.startsWith('#')) output.push(line);
    else if (line.startsWith('> ')) {
      if (output.length > 0) output.push('');
      output.push(line, ...runner.run(line.slice(2)));
    }
  }
  return `${separateProse(output).join('\n')}\n`;
}

/** Prose stands apart from the output above it. */
function separateProse(lines: readonly string[]): string[] {
  const spaced: string[] = [];
  for (const line of lines) {
    const before = spaced.at(-1);
    if (line.startsWith('#') && before !== undefined && before !== '' && !before.startsWith('#')) {
      spaced.push('');
    }
    spaced.push(line);
  }
  return spaced;
}

type Command = (words: readonly string[]) => void;

class ScenarioRunner {
  #cluster: ScenarioCluster | undefined;
  #lines: string[] = [];

  get cluster(): ScenarioCluster {
    if (this.#cluster === undefined) throw new Error('a scenario begins with `cluster`');
    return this.#cluster;
  }

  run(line: string): string[] {
    this.#lines = [];
    const [name = '', ...words] = line.split(' ');
    const command = this.#commands[name];
    if (command === undefined) throw new Error(`unknown command: ${line}`);
    command(words);
    return this.#lines.length === 0 ? ['(nothing)'] : this.#lines;
  }

  readonly #commands: Record<string, Command> = {
    cluster: (words) => this.#begin(words),
    campaign: ([id]) => this.#on(id, (raft) => raft.campaign()),
    tick: ([id, count]) => {
      for (let left = Number(count); left > 0; left--) this.#on(id, (raft) => raft.tick());
    },
    propose: ([id, ...words]) => {
      this.#on(id, (raft) => {
        const result = raft.propose(words.map((word) => Buffer.from(word)));
        if (result !== 'ok') this.#say(`${id}: proposal refused, ${result}`);
      });
    },
    read: ([id, counter]) => {
      const member = Number(id);
      const { incarnation } = this.cluster.member(member);
      const context = { member, incarnation, counter: Number(counter) };
      this.#on(id, (raft) => raft.readIndex(context));
    },
    transfer: ([id, target]) => this.#on(id, (raft) => raft.transferLeader(Number(target))),
    'link-lost': ([id, ticks]) => this.#on(id, (raft) => raft.leaderLinkLost(Number(ticks))),
    unreachable: ([id, target]) => this.#on(id, (raft) => raft.reportUnreachable(Number(target))),
    report: ([id, target, result]) => {
      this.#on(id, (raft) => raft.reportSnapshot(Number(target), result === 'ok'));
    },
    deliver: (words) => this.#deliver(words),
    drop: (words) => this.#drop(words),
    settle: () => this.cluster.settle(),
    elect: ([id]) => {
      const { cluster } = this;
      const { print } = cluster;
      cluster.print = () => {};
      cluster.member(Number(id)).raft.campaign();
      cluster.process(Number(id));
      cluster.settle();
      cluster.print = print;
      this.#status(Number(id));
    },
    cut: ([id]) => {
      this.cluster.cut.add(Number(id));
    },
    join: ([id]) => {
      this.cluster.cut.delete(Number(id));
    },
    'slow-disk': ([id]) => {
      this.cluster.member(Number(id)).slowDisk = true;
    },
    'fast-disk': ([id]) => {
      const member = this.cluster.member(Number(id));
      member.slowDisk = false;
      while (member.tasks.length > 0) this.cluster.persist(member.id);
      this.cluster.process(member.id);
    },
    persist: ([id, count]) => {
      for (let left = Number(count ?? 1); left > 0; left--) this.cluster.persist(Number(id));
      this.cluster.process(Number(id));
    },
    damage: ([id, lost]) => this.cluster.damage(Number(id), Number(lost)),
    trust: ([id]) => {
      this.cluster.damaged.delete(Number(id));
    },
    restart: ([id]) => this.cluster.restart(Number(id)),
    compact: ([id]) => this.#compact(Number(id)),
    install: ([id, from]) => this.#install(Number(id), Number(from)),
    status: ([id]) => this.#status(Number(id)),
    log: ([id]) => this.#log(Number(id)),
  };

  #say(line: string): void {
    this.#lines.push(line);
  }

  #begin(words: readonly string[]): void {
    const options = new Map(words.map((word) => word.split('=') as [string, string]));
    const ids = (name: string) => {
      const list = options.get(name);
      options.delete(name);
      return list === undefined ? [] : list.split(',').map(Number);
    };
    const configuration: Configuration = {
      voters: ids('voters'),
      votersOutgoing: ids('outgoing'),
      learners: ids('learners'),
      learnersNext: [],
      autoLeave: false,
    };
    const settings = Object.fromEntries([...options].map(([name, value]) => [name, Number(value)]));
    this.#cluster = new ScenarioCluster(configuration, settings);
    this.#cluster.print = (line) => this.#say(line);
  }

  #on(id: string | undefined, act: (raft: ScenarioRaft) => void): void {
    const member = this.cluster.member(Number(id));
    act(member.raft);
    this.cluster.process(member.id);
  }

  /** `2->1` or nothing for any link. */
  #matching(link: string | undefined): number[] {
    const [from, to] = link?.split('->').map(Number) ?? [];
    const found: number[] = [];
    for (const [at, message] of this.cluster.network.entries()) {
      if (link === undefined || (message.from === from && message.to === to)) found.push(at);
    }
    return found;
  }

  #deliver(words: readonly string[]): void {
    const link = words.find((word) => word.includes('->'));
    const count = Number(words.find((word) => !word.includes('->')) ?? Number.MAX_SAFE_INTEGER);
    // Only what is in the queue now: answers wait for the next command.
    const { cluster } = this;
    const chosen = new Set(this.#matching(link).slice(0, count));
    const messages = cluster.network.filter((_, at) => chosen.has(at));
    cluster.network = cluster.network.filter((_, at) => !chosen.has(at));
    for (const message of messages) {
      cluster.member(message.to).raft.step(message);
      cluster.process(message.to);
    }
  }

  #drop(words: readonly string[]): void {
    const chosen = new Set(this.#matching(words[0]));
    for (const at of chosen) {
      const message = this.cluster.network[at]!;
      this.#say(`lost: ${message.from}: ${describe(message)}`);
    }
    this.cluster.network = this.cluster.network.filter((_, at) => !chosen.has(at));
  }

  #compact(id: MemberId): void {
    const member = this.cluster.member(id);
    member.log.setApplied(member.appliedIndex, member.raft.status().configuration);
    member.log.compact(member.appliedIndex);
    member.raft.compacted(member.log.firstIndex());
    this.#say(`${id}: log begins at ${member.log.firstIndex()}`);
  }

  /** Installs the present state of `from` on `id`. */
  #install(id: MemberId, from: MemberId): void {
    const source = this.cluster.member(from);
    const target = this.cluster.member(id);
    const index = source.appliedIndex;
    const term = source.log.term(index)!;
    const { configuration } = source.raft.status();
    target.appliedIndex = index;
    target.raft.snapshotInstalled({ index, term, configuration });
    this.cluster.process(id);
  }

  #status(id: MemberId): void {
    const status = this.cluster.member(id).raft.status();
    const { role, term, leader, commit, lastIndex, stableIndex, applied } = status;
    this.#say(
      `${id}: ${role} term ${term} leader ${leader} applied ${applied} commit ${commit} ` +
        `stable ${stableIndex} last ${lastIndex}`,
    );
    for (const peer of status.peers) {
      this.#say(`   ${peer.id}: ${peer.state} match ${peer.match} next ${peer.next}`);
    }
  }

  #log(id: MemberId): void {
    const { log } = this.cluster.member(id);
    const terms: string[] = [];
    for (let i = log.firstIndex(); i <= log.lastIndex(); i++) terms.push(`${i}/${log.term(i)}`);
    this.#say(`${id}: durable ${terms.length === 0 ? 'nothing' : terms.join(' ')}`);
  }
}

type ScenarioRaft = ReturnType<ScenarioCluster['member']>['raft'];
