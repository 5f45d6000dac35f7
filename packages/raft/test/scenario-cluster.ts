import {
  type AppendTask,
  type Configuration,
  createRaft,
  type Entry,
  EntryType,
  MemoryLog,
  type Message,
  type Raft,
  type RaftConfig,
  type Ready,
} from '../src/index.ts';
import { damagedLog } from './damaged-log.ts';
import { describe, describeEntry, describeTask } from './scenario-words.ts';

/** One member of a scenario: a core, its log, and the work it has handed out. */
export interface ScenarioMember {
  readonly id: number;
  log: MemoryLog;
  raft: Raft;
  incarnation: number;
  tasks: AppendTask[];
  /** With `slow-disk` tasks wait for the command `persist`. */
  slowDisk: boolean;
  /** With `slow-apply` committed entries wait for the command `apply`. */
  slowApply: boolean;
  unapplied: Entry[];
  appliedIndex: number;
  /** Newest round of an election in which this member asked for votes. */
  campaign: number;
}

export type Settings = Partial<Omit<RaftConfig, 'id' | 'log'>>;

/** What a cluster begins with, beside its configuration. */
export interface Beginning {
  /** Ids of members that run though they are in no configuration. */
  readonly others?: readonly number[];
  /** Only these run; what is sent to the rest is lost. Left out: all. */
  readonly here?: readonly number[];
  /** Terms of the entries in every log, and the hard state beside it. */
  readonly log?: readonly number[];
  readonly term?: number;
  readonly vote?: number;
  readonly commit?: number;
}

/** Members with fixed election timeouts (member n: electionTicks + n − 1) and one message queue. */
export class ScenarioCluster {
  readonly members = new Map<number, ScenarioMember>();
  readonly settings: Settings;
  network: Message[] = [];
  /** Members whose messages get lost, both ways. */
  readonly cut = new Set<number>();
  /** Links that carry nothing, by `linkOf`. */
  readonly cutLinks = new Set<string>();
  /** Members whose log is not to be trusted. */
  readonly damaged = new Set<number>();
  /** Receives one line per visible event. */
  print: (line: string) => void = () => {};

  constructor(configuration: Configuration, settings: Settings = {}, beginning: Beginning = {}) {
    this.settings = settings;
    const { voters, votersOutgoing, learners } = configuration;
    const { others = [], here } = beginning;
    const all = new Set([...voters, ...votersOutgoing, ...learners, ...others]);
    for (const id of here ?? all) {
      const log = beginningLog(configuration, beginning);
      this.members.set(id, {
        id,
        log,
        raft: createRaft(this.#config(id, log, 1)),
        incarnation: 1,
        tasks: [],
        slowDisk: false,
        slowApply: false,
        unapplied: [],
        appliedIndex: 0,
        campaign: 0,
      });
    }
  }

  #config(id: number, log: MemoryLog, incarnation: number): RaftConfig {
    return {
      electionTicks: 10,
      heartbeatTicks: 3,
      appendBytesMax: 1 << 20,
      appendEntriesMax: 100,
      inflightAppendsMax: 8,
      inflightBytesMax: 1 << 20,
      uncommittedBytesMax: 1 << 20,
      committedBytesMax: 1 << 20,
      random: () => id - 1,
      termStart: (last, transferred) =>
        Buffer.from(`${transferred ? 'handed over' : 'elected'} after ${last?.index ?? 'nothing'}`),
      mayCampaign: () => true,
      mayVote: () => !this.damaged.has(id),
      ...this.settings,
      id,
      log,
      incarnation,
    };
  }

  member(id: number): ScenarioMember {
    const member = this.members.get(id);
    if (member === undefined) throw new Error(`no member ${id}`);
    return member;
  }

  /** Its log ends in a bad record, with so many entries, when it starts again. */
  damage(id: number, lost: number): void {
    const member = this.member(id);
    member.log = damagedLog(member.log, lost, member.raft.status().configuration);
    member.appliedIndex = Math.min(member.appliedIndex, member.log.lastIndex());
    this.damaged.add(id);
    this.restart(id);
  }

  /** Loses what is not durable and starts again from the log. */
  restart(id: number): void {
    const member = this.member(id);
    member.tasks = [];
    member.unapplied = [];
    member.incarnation++;
    member.log.setApplied(member.appliedIndex, member.raft.status().configuration);
    member.raft = createRaft(this.#config(id, member.log, member.incarnation));
  }

  /** Takes what is ready, prints it, writes and applies at once (unless the disk is slow). */
  process(id: number): void {
    const member = this.member(id);
    while (member.raft.hasReady()) {
      const ready = member.raft.ready();
      this.#printReady(member, ready);
      for (const message of ready.messages) this.#post(message);
      if (ready.append !== undefined) member.tasks.push(ready.append);
      member.unapplied.push(...ready.committed);
      if (!member.slowApply) this.#apply(member, member.unapplied.length);
      this.#printAnswers(member, ready);
      if (!member.slowDisk) while (member.tasks.length > 0) this.persist(id);
    }
  }

  /** Applies the oldest entries that were handed out. */
  apply(id: number, count: number): void {
    this.#apply(this.member(id), count);
    this.process(id);
  }

  #apply(member: ScenarioMember, count: number): void {
    const { raft } = member;
    for (const entry of member.unapplied.splice(0, count)) {
      this.print(`${member.id}: applies ${describeEntry(entry)}`);
      member.appliedIndex = entry.index;
      if (entry.type === EntryType.Configuration) {
        const configuration = JSON.parse(Buffer.from(entry.data).toString()) as Configuration;
        raft.applyConfiguration({ configuration });
      }
      raft.appliedTo(entry.index);
    }
  }

  /** Makes the oldest task durable and keeps its promises. */
  persist(id: number): void {
    const member = this.member(id);
    const task = member.tasks.shift();
    if (task === undefined) throw new Error(`member ${id} is writing nothing`);
    member.log.write(task);
    member.raft.appendDone(task.sequence);
    for (const message of task.after) {
      if (message.to === id) member.raft.step(message);
      else this.#post(message);
    }
  }

  #post(message: Message): void {
    const { from, to } = message;
    if (message.kind === 'vote') this.member(from).campaign = message.campaign;
    const lost = this.cut.has(from) || this.cut.has(to) || this.cutLinks.has(linkOf(from, to));
    if (!lost && this.members.has(to)) this.network.push(message);
  }

  /** Delivers everything until nothing is under way. */
  settle(): void {
    while (this.network.length > 0) {
      const messages = this.network;
      this.network = [];
      for (const message of messages) {
        this.member(message.to).raft.step(message);
        this.process(message.to);
      }
    }
  }

  #printReady(member: ScenarioMember, ready: Ready): void {
    const say = (text: string) => this.print(`${member.id}: ${text}`);
    if (ready.soft !== undefined) {
      const { role, term, leader } = ready.soft;
      say(`${role} in term ${term}, leader ${leader === 0 ? 'unknown' : leader}`);
    }
    if (ready.append !== undefined) say(describeTask(ready.append));
    for (const message of ready.messages) say(`sends ${describe(message)}`);
  }

  #printAnswers(member: ScenarioMember, ready: Ready): void {
    const say = (text: string) => this.print(`${member.id}: ${text}`);
    for (const { context, index } of ready.readStates) say(`read ${context.counter} at ${index}`);
    for (const context of ready.readsDropped) say(`read ${context.counter} dropped`);
    for (const to of ready.snapshotsNeeded) say(`${to} needs a snapshot`);
  }
}

/** One name for both directions. */
export function linkOf(a: number, b: number): string {
  return a < b ? `${a}-${b}` : `${b}-${a}`;
}

function beginningLog(configuration: Configuration, beginning: Beginning): MemoryLog {
  const memory = new MemoryLog(configuration);
  const { log = [], vote = 0, commit = 0 } = beginning;
  const entries = log.map((term, at) => {
    return { index: at + 1, term, type: EntryType.Normal, data: Buffer.from(`old ${at + 1}`) };
  });
  const hardState = { term: beginning.term ?? log.at(-1) ?? 0, vote, commit };
  const rest = { sequence: 0, snapshot: undefined, mustSync: true, after: [] };
  memory.write({ ...rest, entries, hardState });
  return memory;
}
