import {
  type ByteString,
  EntryKind,
  type LeaseHandle,
  type LogEntry,
  type MemberId,
  type RenewalGroup,
  type Run,
} from '@lockstep/model';
import {
  type AppliedTransaction,
  type CommandOutcome,
  createStateMachine,
  type Extension,
  encodeHello,
  FEATURE_LEVEL,
  type StateEvent,
  type StateMachine,
} from '../src/index.ts';
import { command, type Step, TOY } from './toy.ts';

export const ELECTION_TIMEOUT_MS = 1000;

const BOOTSTRAP = {
  clusterId: 0xfeed_0000_0000_0001n,
  members: [1, 2, 3].map((id) => ({
    id,
    name: `n${id}`,
    etcdId: BigInt(id) << 40n,
    peerAddress: `127.0.0.1:${id}`,
  })),
  options: { 'toy-limit': 7 },
  electionTimeoutMs: ELECTION_TIMEOUT_MS,
};

/** A machine with its image in a map, and a log position. */
export class Driver {
  machine: StateMachine;
  readonly image: Map<ByteString, Uint8Array>;
  readonly transactions: AppliedTransaction[] = [];
  readonly outcomes: CommandOutcome[] = [];
  /** Keys handed to the image, each time. */
  readonly written: ByteString[] = [];
  readonly renewed: { group: RenewalGroup; alive: readonly boolean[] }[] = [];
  time = 1000;
  index = 0;
  wanted = true;
  readonly #sequences = new Map<MemberId, number>();
  readonly #extensions: readonly Extension[];

  readonly #featureLevelMax: number;

  constructor(
    extensions: readonly Extension[] = [TOY],
    image = new Map(),
    featureLevelMax = FEATURE_LEVEL,
  ) {
    this.#extensions = extensions;
    this.#featureLevelMax = featureLevelMax;
    this.image = image;
    this.machine = this.#create();
  }

  #create(): StateMachine {
    return createStateMachine({
      extensions: this.#extensions,
      featureLevelMax: this.#featureLevelMax,
      bootstrap: BOOTSTRAP,
      image: {
        set: (key, value) => {
          this.written.push(key);
          if (value === undefined) this.image.delete(key);
          else this.image.set(key, value);
        },
      },
    });
  }

  /** A second machine, started from a copy of this one's image. */
  reloaded(): Driver {
    const copy = new Driver(this.#extensions, new Map(this.image), this.#featureLevelMax);
    copy.load();
    copy.time = this.time;
    copy.index = this.index;
    for (const [member, sequence] of this.#sequences) copy.#sequences.set(member, sequence);
    return copy;
  }

  load(): void {
    const rows = [...this.image].sort(([x], [y]) => (x < y ? -1 : 1));
    for (const [key, value] of rows) this.machine.load(Buffer.from(key, 'latin1'), value);
    this.machine.loaded();
  }

  entry(part: Partial<LogEntry>): CommandOutcome[] {
    const entry: LogEntry = {
      kind: EntryKind.Commands,
      time: this.time,
      wall: this.time + 1e12,
      renewals: [],
      runs: [],
      ...part,
    };
    const before = this.outcomes.length;
    this.machine.begin(++this.index, 1, entry, {
      wanted: () => this.wanted,
      transaction: (transaction) => void this.transactions.push(transaction),
      result: (_origin, _incarnation, _sequence, outcome) => void this.outcomes.push(outcome),
      renewed: (group, alive) => void this.renewed.push({ group, alive }),
    });
    while (this.machine.next());
    return this.outcomes.slice(before);
  }

  /** An entry of the leader's own, unnumbered commands. */
  apply(...commands: readonly Uint8Array[]): CommandOutcome[] {
    return this.entry({ runs: [{ origin: 1, incarnation: 1, first: 0, commands }] });
  }

  /** One command of the given steps; its results. A void command fails the test. */
  do(...steps: readonly Step[]): unknown[] {
    const [outcome] = this.apply(command(...steps));
    if (outcome?.kind !== 'done') throw new Error(`void: ${outcome?.reason}`);
    return outcome.result as unknown[];
  }

  /** As `do`, numbered as a command of that member's. */
  doAs(member: MemberId, incarnation: number, ...steps: readonly Step[]): CommandOutcome {
    const first = (this.#sequences.get(member) ?? 0) + 1;
    this.#sequences.set(member, first);
    return this.entry({
      runs: [{ origin: member, incarnation, first, commands: [command(...steps)] }],
    })[0]!;
  }

  run(run: Run): CommandOutcome[] {
    return this.entry({ runs: [run] });
  }

  /** A tick: nothing but time. */
  tick(afterMs: number): void {
    this.time += afterMs;
    this.entry({});
  }

  renew(...leases: LeaseHandle[]): readonly boolean[] {
    this.entry({ renewals: [{ origin: 1, incarnation: 1, ticket: 1, leases }] });
    return this.renewed.at(-1)!.alive;
  }

  /** A numbered hello: first command of the incarnation. */
  hello(member: MemberId, incarnation: number, change: object = {}): CommandOutcome {
    this.#sequences.set(member, 1);
    const bytes = encodeHello({
      member,
      incarnation,
      name: `n${member}`,
      version: '0.1.0',
      featureLevel: 1,
      dataDirectory: `directory-${member}`,
      addresses: { redis: `127.0.0.1:${member}` },
      ...change,
    });
    return this.run({ origin: member, incarnation, first: 1, commands: [bytes] })[0]!;
  }

  /** Events of the transactions since the last call. */
  events(): StateEvent[] {
    return this.transactions.splice(0).flatMap((transaction) => transaction.events);
  }

  /** The same in short text: what most tests compare. */
  story(): string[] {
    return this.events().map(tell);
  }
}

function tell(event: StateEvent): string {
  switch (event.kind) {
    case 'change': {
      const { keyspace, key, revision, sub, record } = event;
      const value = record === undefined ? 'gone' : Buffer.from(record.value as never).toString();
      return `${keyspace.name} ${key} ${revision}.${sub} ${value}`;
    }
    case 'clear':
      return `${event.keyspace.name} cleared ${event.revision}`;
    case 'lease-ended':
      return `lease ${event.lease.kind}/${event.lease.id} ${event.cause}`;
    case 'door':
      return `${event.door} says ${event.payload}`;
    case 'waiter':
      return `waiter ${event.waiter.request} ${event.outcome} ${JSON.stringify(event.result)}`;
  }
}
