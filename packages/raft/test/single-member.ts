import {
  type AppendRequest,
  type AppendResponse,
  type AppendTask,
  type Configuration,
  createRaft,
  type Entry,
  EntryType,
  MemoryLog,
  type Message,
  type Raft,
  type RaftConfig,
  type ReadState,
} from '../src/index.ts';

export const NO_DATA = new Uint8Array(0);

export function configurationOf(
  voters: readonly number[],
  rest: Partial<Configuration> = {},
): Configuration {
  return { voters, votersOutgoing: [], learners: [], learnersNext: [], autoLeave: false, ...rest };
}

/** Entries whose terms are the given ones, from `first` on. */
export function entriesOf(terms: readonly number[], first = 1): Entry[] {
  return terms.map((term, at) => {
    return { index: first + at, term, type: EntryType.Normal, data: Buffer.from(`${term}`) };
  });
}

export interface Setup {
  readonly voters?: readonly number[];
  readonly configuration?: Configuration;
  /** Terms of the entries in the log. */
  readonly log?: readonly number[];
  readonly term?: number;
  readonly vote?: number;
  readonly commit?: number;
  readonly settings?: Partial<RaftConfig>;
}

/** One core, its log, and what it handed out; member 1 unless `settings` say otherwise. */
export class SingleMember {
  readonly raft: Raft;
  readonly log: MemoryLog;
  readonly tasks: AppendTask[] = [];
  readonly committed: Entry[] = [];
  readonly readStates: ReadState[] = [];
  readonly readsDropped: number[] = [];
  readonly snapshotsNeeded: number[] = [];
  /** Sent, or promised and kept. */
  sent: Message[] = [];
  slowDisk = false;
  slowApply = false;

  constructor(setup: Setup = {}) {
    const { log: terms = [], voters = [1, 2, 3], commit = 0, vote = 0 } = setup;
    const term = setup.term ?? terms.at(-1) ?? 0;
    this.log = new MemoryLog(setup.configuration ?? configurationOf(voters));
    this.log.write({
      sequence: 0,
      entries: entriesOf(terms),
      hardState: { term, vote, commit },
      snapshot: undefined,
      mustSync: true,
      after: [],
    });
    this.raft = createRaft({
      id: 1,
      incarnation: 7,
      electionTicks: 10,
      heartbeatTicks: 1,
      appendBytesMax: 1 << 20,
      appendEntriesMax: 1000,
      inflightAppendsMax: 256,
      inflightBytesMax: 1 << 20,
      uncommittedBytesMax: 1 << 20,
      committedBytesMax: 1 << 20,
      random: () => 0,
      log: this.log,
      termStart: () => NO_DATA,
      mayCampaign: () => true,
      mayVote: () => true,
      ...setup.settings,
    });
    this.process();
    this.sent = [];
  }

  process(): void {
    const { raft } = this;
    while (raft.hasReady()) {
      const ready = raft.ready();
      this.sent.push(...ready.messages);
      if (ready.append !== undefined) this.tasks.push(ready.append);
      this.committed.push(...ready.committed);
      this.readStates.push(...ready.readStates);
      this.readsDropped.push(...ready.readsDropped.map(({ counter }) => counter));
      this.snapshotsNeeded.push(...ready.snapshotsNeeded);
      const last = ready.committed.at(-1);
      if (last !== undefined && !this.slowApply) raft.appliedTo(last.index);
      if (!this.slowDisk) while (this.tasks.length > 0) this.persist();
    }
  }

  /** Makes the oldest task durable; gives the promises that leave with it. */
  persist(): readonly Message[] {
    const task = this.tasks.shift();
    if (task === undefined) return [];
    this.log.write(task);
    this.raft.appendDone(task.sequence);
    for (const message of task.after) {
      if (message.to === message.from) this.raft.step(message);
      else this.sent.push(message);
    }
    return task.after;
  }

  step(message: Message): Message[] {
    this.raft.step(message);
    return this.take();
  }

  tick(count = 1): Message[] {
    for (let i = 0; i < count; i++) {
      this.raft.tick();
      this.process();
    }
    return this.take();
  }

  propose(...data: string[]): Message[] {
    this.raft.propose(data.map((text) => Buffer.from(text)));
    return this.take();
  }

  take(): Message[] {
    this.process();
    const { sent } = this;
    this.sent = [];
    return sent;
  }

  /** Answers of the voters to the newest round of this member's election. */
  grant(...from: number[]): Message[] {
    for (const id of from) {
      const request = this.#requests.findLast(({ to }) => to === id) ?? this.#requests.at(-1);
      if (request === undefined) throw new Error(`no vote was asked of ${id}`);
      const { term, preVote, incarnation, campaign } = request;
      const answer = {
        from: id,
        to: 1,
        term,
        preVote,
        reject: false,
        conditional: false,
        incarnation,
        campaign,
      };
      this.raft.step({ kind: 'vote-response', ...answer });
      this.#note(this.take());
    }
    return this.#kept.splice(0);
  }

  #requests: Extract<Message, { kind: 'vote' }>[] = [];
  #kept: Message[] = [];

  #note(messages: Message[]): void {
    for (const message of messages) if (message.kind === 'vote') this.#requests.push(message);
    this.#kept.push(...messages);
  }

  /** Begins an election; gives the requests for pre-votes. */
  campaign(): Message[] {
    this.raft.campaign();
    this.#note(this.take());
    return this.#kept.splice(0);
  }

  /** Wins an election by the votes of 2 (and 3 if needed); gives its first appends. */
  lead(...voters: number[]): Message[] {
    const from = voters.length > 0 ? voters : [2];
    this.campaign();
    if (this.raft.role === 'pre-candidate') this.grant(...from);
    const messages = this.raft.role === 'candidate' ? this.grant(...from) : [];
    if (this.raft.role !== 'leader') throw new Error(`it is ${this.raft.role}`);
    return messages;
  }

  acknowledge(from: number, index: number): Message[] {
    return this.step(accepted(from, this.raft.term, index));
  }
}

export function accepted(from: number, term: number, index: number): AppendResponse {
  const none = { hintIndex: 0, hintTerm: 0 };
  return { kind: 'append-response', from, to: 1, term, index, reject: false, ...none };
}

export function append(rest: Partial<AppendRequest>): AppendRequest {
  return {
    kind: 'append',
    from: 2,
    to: 1,
    term: 1,
    prevIndex: 0,
    prevTerm: 0,
    entries: [],
    commit: 0,
    readRound: 0,
    ...rest,
  };
}

export function kinds(messages: readonly Message[]): string[] {
  return messages.map(({ kind }) => kind);
}

/** Only the messages of one kind. */
export function only<K extends Message['kind']>(
  messages: readonly Message[],
  kind: K,
): Extract<Message, { kind: K }>[] {
  return messages.filter((message) => message.kind === kind) as Extract<Message, { kind: K }>[];
}

export const heartbeat = (rest: object) =>
  ({ kind: 'heartbeat', from: 2, to: 1, term: 1, commit: 0, readRound: 0, ...rest }) as const;
export const vote = (rest: object) =>
  ({
    kind: 'vote',
    from: 2,
    to: 1,
    term: 1,
    preVote: false,
    transfer: false,
    lastIndex: 9,
    lastTerm: 9,
    incarnation: 1,
    campaign: 1,
    ...rest,
  }) as const;
