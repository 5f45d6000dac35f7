import { InvariantError, type MemberId } from '@lockstep/model';
import { describeConfiguration } from '../src/configuration-change.ts';
import type { Configuration, Message } from '../src/index.ts';
import { linkOf, ScenarioCluster } from './scenario-cluster.ts';
import { describe, heard } from './scenario-words.ts';

/**
 * Runs a scenario file. A line that begins with `> ` is a command; the lines below it, up to the
 * next blank line, are its complete output. Lines that begin with `#` are prose. Commands:
 *
 *   cluster voters=1,2,3 outgoing=1,2 learners=4 next=2 others=5 NAME=NUMBER …
 *       begin, with settings of the core; `others` run outside of the configuration
 *   cluster … here=1 log=1,1,2 term=3 vote=2 commit=1   only member 1 runs; what all logs hold
 *   hear ID KIND from 2 term 3 …                    a made-up message, in the words of the output
 *   elect ID                                        campaign and settle, only the result is shown
 *   COMMAND; quietly COMMAND; COMMAND               several on a line; behind `quietly` nothing shows
 *   cut ID · join ID · cut A-B · join A-B           lose, or again carry, all its messages
 *   campaign ID · tick ID COUNT · propose ID WORD … · read ID COUNTER · transfer ID TARGET
 *   change ID voters=1,2 outgoing=… …               propose that configuration
 *   deliver [FROM->TO] [COUNT] · drop [FROM->TO] · settle      messages, oldest first
 *   hold [FROM->TO] · copy [FROM->TO] · release                messages for later, or for twice
 *   slow-disk ID · fast-disk ID · persist ID [COUNT]           when tasks become durable
 *   slow-apply ID · apply ID [COUNT]                           when committed entries are applied
 *   compact ID · install ID FROM · report ID TARGET ok|failed  snapshots
 *   damage ID LOST · trust ID      its log loses so many entries, and is doubted until `trust`
 *   link-lost ID TICKS · unreachable ID TARGET · restart ID
 *   status ID · log ID · members ID
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
  #held: Message[] = [];

  get cluster(): ScenarioCluster {
    if (this.#cluster === undefined) throw new Error('a scenario begins with `cluster`');
    return this.#cluster;
  }

  /** Commands on one line stand apart by semicolons; `quietly` holds for all behind it. */
  run(line: string): string[] {
    this.#lines = [];
    const commands = line.split('; ');
    const quiet = commands.findIndex((command) => command.startsWith('quietly '));
    for (const [at, command] of commands.entries()) {
      const plain = command.replace('quietly ', '');
      if (quiet >= 0 && at >= quiet) this.#quietly(plain);
      else this.#run(plain);
    }
    return this.#lines.length === 0 ? ['(nothing)'] : this.#lines;
  }

  #run(command: string): void {
    const [name = '', ...words] = command.split(' ');
    const act = this.#commands[name];
    if (act === undefined) throw new Error(`unknown command: ${command}`);
    try {
      act(words);
    } catch (error) {
      if (!(error instanceof InvariantError)) throw error;
      this.#say(`stops: ${error.message}`);
    }
  }

  #quietly(command: string): void {
    const { print } = this.cluster;
    const lines = this.#lines;
    this.#lines = [];
    this.cluster.print = () => {};
    this.#run(command);
    this.cluster.print = print;
    this.#lines = lines;
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
      this.#quietly(`campaign ${id}`);
      this.#quietly('settle');
      this.#status(Number(id));
    },
    hear: ([id, ...words]) => {
      const member = this.cluster.member(Number(id));
      this.#on(id, (raft) => raft.step(heard(words, member)));
    },
    change: ([id, ...words]) => {
      const data = Buffer.from(JSON.stringify(configurationIn(optionsIn(words))));
      this.#on(id, (raft) => {
        const result = raft.proposeConfiguration(data);
        if (result !== 'ok') this.#say(`${id}: change refused, ${result}`);
      });
    },
    hold: ([link]) => this.#hold(link, false),
    copy: ([link]) => this.#hold(link, true),
    release: () => {
      this.cluster.network.push(...this.#held);
      this.#held = [];
    },
    cut: ([what = '']) => {
      if (what.includes('-')) this.cluster.cutLinks.add(linkIn(what));
      else this.cluster.cut.add(Number(what));
    },
    join: ([what = '']) => {
      if (what.includes('-')) this.cluster.cutLinks.delete(linkIn(what));
      else this.cluster.cut.delete(Number(what));
    },
    'slow-apply': ([id]) => {
      this.cluster.member(Number(id)).slowApply = true;
    },
    apply: ([id, count]) => {
      this.cluster.apply(Number(id), Number(count ?? Number.MAX_SAFE_INTEGER));
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
    members: ([id]) => {
      const { configuration } = this.cluster.member(Number(id)).raft.status();
      this.#say(`${id}: ${describeConfiguration(configuration)}`);
    },
  };

  #say(line: string): void {
    this.#lines.push(line);
  }

  #begin(words: readonly string[]): void {
    const options = optionsIn(words);
    const configuration = configurationIn(options);
    const [others, here, log] = ['others', 'here', 'log'].map((name) => numbersIn(options, name));
    const [term, vote, commit] = ['term', 'vote', 'commit'].map(
      (name) => numbersIn(options, name)?.[0],
    );
    const beginning = defined({ others, here, log, term, vote, commit });
    const settings = Object.fromEntries([...options].map(([name, value]) => [name, Number(value)]));
    this.#cluster = new ScenarioCluster(configuration, settings, beginning);
    // What the logs already hold is applied before the story begins.
    for (const id of this.#cluster.members.keys()) this.#cluster.process(id);
    this.#cluster.print = (line) => this.#say(line);
  }

  #hold(link: string | undefined, copy: boolean): void {
    const chosen = this.#matching(link).map((at) => this.cluster.network[at]!);
    this.#held.push(...chosen);
    if (copy) return;
    this.cluster.network = this.cluster.network.filter((message) => !chosen.includes(message));
    for (const message of chosen) this.#say(`held: ${message.from}: ${describe(message)}`);
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

function optionsIn(words: readonly string[]): Map<string, string> {
  return new Map(words.map((word) => word.split('=') as [string, string]));
}

/** Takes the option `name` out of the map. */
function numbersIn(options: Map<string, string>, name: string): number[] | undefined {
  const list = options.get(name);
  options.delete(name);
  return list?.split(',').map(Number);
}

function configurationIn(options: Map<string, string>): Configuration {
  return {
    voters: numbersIn(options, 'voters') ?? [],
    votersOutgoing: numbersIn(options, 'outgoing') ?? [],
    learners: numbersIn(options, 'learners') ?? [],
    learnersNext: numbersIn(options, 'next') ?? [],
    autoLeave: false,
  };
}

/** Without the parts that are undefined. */
function defined<T extends object>(parts: T): { [K in keyof T]: NonNullable<T[K]> } {
  const entries = Object.entries(parts).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]: NonNullable<T[K]> };
}

function linkIn(words: string): string {
  const [a = 0, b = 0] = words.split('-').map(Number);
  return linkOf(a, b);
}
