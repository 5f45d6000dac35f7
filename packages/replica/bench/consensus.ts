import type { FileError } from '@lockstep/model';
import {
  type AppendTask,
  createRaft,
  MemoryLog,
  type Message,
  type Raft,
  type RaftConfig,
} from '@lockstep/raft';
import { type LogStore, openWal } from '@lockstep/storage';
import { PlainFiles } from './plain-files.ts';

/**
 * Consensus alone: three cores in one thread, messages handed over as they are. So many entries of
 * 256 bytes are kept in flight; prints how many a second all three have applied, best of some
 * spells. With `wal` each core writes the real write-ahead log, onto a disk in memory.
 *   node --conditions=@lockstep/source --import tsx bench/consensus.ts [in flight] [memory or wal]
 */
const inFlight = Number(process.argv[2] ?? 1000);
const onWal = process.argv[3] === 'wal';

const SPELLS = 6;
const SPELL_MS = 500;
/** The log is cut when it is so much longer than what is kept behind. */
const CUT_EVERY = 50_000;
const TRAILING = 10_000;

const configuration = {
  voters: [1, 2, 3],
  votersOutgoing: [],
  learners: [],
  learnersNext: [],
  autoLeave: false,
};

/** What a core needs of its log. */
interface Disk {
  readonly reader: RaftConfig['log'];
  append(task: AppendTask, done: (sequence: number) => void): void;
  compact(index: number, term: number): void;
}

function memoryDisk(): Disk {
  const log = new MemoryLog(configuration);
  return {
    reader: log,
    append: (task, done) => {
      log.write(task);
      done(task.sequence);
    },
    compact: (index) => {
      log.setApplied(index, configuration);
      log.compact(index);
    },
  };
}

/** What waits for its turn in the file system and the log; done when the queue is empty. */
const posted: (() => void)[] = [];

function runPosted(): void {
  for (let i = 0; i < posted.length; i++) posted[i]!();
  posted.length = 0;
}

function walDisk(member: number): Disk {
  const scheduler = { post: (run: () => void) => void posted.push(run) };
  const clock = { monotonicMs: () => performance.now(), setTimer: () => ({ cancel: () => {} }) };
  const files = new PlainFiles(scheduler.post);
  let opened: LogStore | undefined;
  const handlers = {
    failed: ({ message }: FileError) => {
      throw new Error(message);
    },
    available: () => members[member - 1]!.raft.logAvailable(),
    space: () => {},
  };
  const identity = { cluster: '00000000000000ab', member };
  const open = openWal(files, { scheduler, clock, segmentBytes: 16 << 20 });
  open(identity, configuration, handlers, (error, log) => {
    if (error !== undefined) throw new Error(error.message);
    opened = log;
  });
  runPosted();
  const log = opened!;
  return {
    reader: log,
    append: (task, done) => log.append(task, done),
    compact: (index, term) => log.compact(index, term, configuration),
  };
}

class Member {
  readonly raft: Raft;
  inbox: Message[] = [];
  applied = 0;
  #cut = 0;
  readonly #disk: Disk;
  /** Promises of the tasks that are being written, oldest first. */
  readonly #tasks: AppendTask[] = [];
  readonly #written = (sequence: number) => {
    this.raft.appendDone(sequence);
    while (this.#tasks[0] !== undefined && this.#tasks[0].sequence <= sequence) {
      for (const message of this.#tasks.shift()!.after) send(message);
    }
  };

  constructor(id: number) {
    this.#disk = onWal ? walDisk(id) : memoryDisk();
    this.raft = createRaft({
      id,
      incarnation: 1,
      electionTicks: 10,
      heartbeatTicks: 1,
      appendBytesMax: 1 << 20,
      appendEntriesMax: 1024,
      inflightAppendsMax: 256,
      inflightBytesMax: 16 << 20,
      uncommittedBytesMax: 64 << 20,
      committedBytesMax: 4 << 20,
      random: () => id,
      log: this.#disk.reader,
      termStart: () => new Uint8Array(0),
      mayCampaign: () => true,
      mayVote: () => true,
    });
  }

  /** One turn: what came, then all that is ready. */
  turn(): void {
    const { raft, inbox } = this;
    this.inbox = [];
    for (let i = 0; i < inbox.length; i++) raft.step(inbox[i]!);
    while (raft.hasReady()) {
      const { messages, append, committed } = raft.ready();
      for (let i = 0; i < messages.length; i++) send(messages[i]!);
      if (append !== undefined) {
        this.#tasks.push(append);
        this.#disk.append(append, this.#written);
      }
      if (committed.length > 0) this.#apply(committed[committed.length - 1]!);
    }
  }

  #apply({ index, term }: { readonly index: number; readonly term: number }): void {
    this.applied = index;
    this.raft.appliedTo(index);
    if (index - this.#cut < CUT_EVERY + TRAILING) return;
    this.#cut = index - TRAILING;
    this.#disk.compact(this.#cut, term);
    this.raft.compacted(this.#disk.reader.firstIndex());
  }
}

function send(message: Message): void {
  members[message.to - 1]!.inbox.push(message);
}

const members: Member[] = [];
for (const id of [1, 2, 3]) members.push(new Member(id));
const leader = members[0]!;
leader.raft.campaign();
for (let round = 0; leader.raft.commit === 0; round++) {
  if (round > 100) throw new Error(`member 1 is ${leader.raft.role}`);
  turnAll();
}

const proposal = [new Uint8Array(256).fill(7)];

function turnAll(): void {
  for (let i = 0; i < members.length; i++) members[i]!.turn();
  if (posted.length > 0) runPosted();
}

const applied = (): number => Math.min(...members.map((member) => member.applied));

/** Keeps the window full for a spell; entries applied by all three, per second. */
function spell(): number {
  const began = performance.now();
  const before = applied();
  let elapsed = 0;
  while (elapsed < SPELL_MS) {
    for (let round = 0; round < 100; round++) {
      while (leader.raft.lastIndex - leader.applied < inFlight) leader.raft.propose(proposal);
      turnAll();
    }
    elapsed = performance.now() - began;
  }
  return ((applied() - before) * 1000) / elapsed;
}

spell();
const appliedBefore = applied();
const cpuBefore = process.cpuUsage();
const rates = Array.from({ length: SPELLS }, spell);
const { user, system } = process.cpuUsage(cpuBefore);
const cpuUs = (user + system) / (applied() - appliedBefore);
const log = onWal ? 'write-ahead log in memory' : 'log in memory';
console.log(
  `consensus, ${log}, ${inFlight} in flight: ${Math.round(Math.max(...rates))} commits/s ` +
    `(slowest spell ${Math.round(Math.min(...rates))}) on three members in one thread, ` +
    `${cpuUs.toFixed(2)} µs of CPU each`,
);
