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

/** One member of a scenario: a core, its log, and the work it has handed out. */
export interface ScenarioMember {
  readonly id: number;
  log: MemoryLog;
  raft: Raft;
  incarnation: number;
  tasks: AppendTask[];
  /** With `slow-disk` tasks wait for the command `persist`. */
  slowDisk: boolean;
  applied: Entry[];
  appliedIndex: number;
  reads: number;
}

export type Settings = Partial<Omit<RaftConfig, 'id' | 'log'>>;

/** Members with fixed election timeouts (member n: electionTicks + n − 1) and one message queue. */
export class ScenarioCluster {
  readonly members = new Map<number, ScenarioMember>();
  readonly settings: Settings;
  network: Message[] = [];
  /** Members whose messages get lost, both ways. */
  readonly cut = new Set<number>();
  /** Members whose log is not to be trusted. */
  readonly damaged = new Set<number>();
  /** Receives one line per visible event. */
  print: (line: string) => void = () => {};

  constructor(configuration: Configuration, settings: Settings = {}) {
    this.settings = settings;
    const { voters, votersOutgoing, learners } = configuration;
    for (const id of new Set([...voters, ...votersOutgoing, ...learners])) {
      const log = new MemoryLog(configuration);
      this.members.set(id, {
        id,
        log,
        raft: createRaft(this.#config(id, log, 1)),
        incarnation: 1,
        tasks: [],
        slowDisk: false,
        applied: [],
        appliedIndex: 0,
        reads: 0,
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
      for (const entry of ready.committed) {
        member.applied.push(entry);
        member.appliedIndex = entry.index;
        if (entry.type === EntryType.Configuration) {
          const configuration = JSON.parse(Buffer.from(entry.data).toString()) as Configuration;
          member.raft.applyConfiguration({ configuration });
        }
        member.raft.appliedTo(entry.index);
      }
      if (!member.slowDisk) while (member.tasks.length > 0) this.persist(id);
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
    if (!this.cut.has(message.from) && !this.cut.has(message.to)) this.network.push(message);
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
    for (const entry of ready.committed) say(`applies ${describeEntry(entry)}`);
    for (const { context, index } of ready.readStates) say(`read ${context.counter} at ${index}`);
    for (const context of ready.readsDropped) say(`read ${context.counter} dropped`);
    for (const to of ready.snapshotsNeeded) say(`${to} needs a snapshot`);
  }
}

function describeEntry(entry: Entry): string {
  const kind = { 0: '', 1: ' start', 2: ' configuration' }[entry.type];
  return `${entry.index}/${entry.term}${kind} "${Buffer.from(entry.data).toString()}"`;
}

function positions(entries: readonly Entry[]): string {
  return entries.length === 0 ? 'none' : entries.map((e) => `${e.index}/${e.term}`).join(' ');
}

function describeTask(task: AppendTask): string {
  const parts = [`writes #${task.sequence}`];
  if (task.snapshot) parts.push(`snapshot ${task.snapshot.index}/${task.snapshot.term}`);
  if (task.entries.length > 0) parts.push(`entries ${positions(task.entries)}`);
  const { hardState } = task;
  if (hardState)
    parts.push(`term ${hardState.term} vote ${hardState.vote} commit ${hardState.commit}`);
  if (!task.mustSync) parts.push('(no sync)');
  for (const message of task.after) parts.push(`then ${describe(message)}`);
  return parts.join(', ');
}

/** One message on one line, in the words of the contract. */
export function describe(message: Message): string {
  return `${message.kind} to ${message.to} term ${message.term}${details(message)}`;
}

function grantOf(response: Extract<Message, { kind: 'vote-response' }>): string {
  if (response.reject) return 'REFUSED';
  return response.conditional ? 'granted if all do' : 'granted';
}

function details(message: Message): string {
  switch (message.kind) {
    case 'append': {
      const { prevIndex, prevTerm, entries, commit, readRound } = message;
      const round = readRound > 0 ? ` round ${readRound}` : '';
      return ` after ${prevIndex}/${prevTerm} entries ${positions(entries)} commit ${commit}${round}`;
    }
    case 'append-response':
      if (!message.reject) return ` up to ${message.index}`;
      return ` REJECTS ${message.index} hint ${message.hintIndex}/${message.hintTerm}`;
    case 'heartbeat':
      return ` commit ${message.commit} round ${message.readRound}`;
    case 'heartbeat-response':
      return ` round ${message.readRound}`;
    case 'vote':
      return `${message.preVote ? ' PRE' : ''}${message.transfer ? ' TRANSFER' : ''} last ${message.lastIndex}/${message.lastTerm}`;
    case 'vote-response':
      return `${message.preVote ? ' PRE' : ''} ${grantOf(message)}`;
    case 'read-index':
      return ` read ${message.context.counter}`;
    case 'read-index-response':
      return ` read ${message.context.counter} ${message.index === 0 ? 'REFUSED' : `at ${message.index}`}`;
    case 'transfer':
      return ` target ${message.target}`;
    case 'timeout-now':
      return '';
  }
}
