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
  type SnapshotMeta,
} from '../src/index.ts';
import { damagedLog } from './damaged-log.ts';
import { Oracle } from './oracle.ts';
import { SeededRandom } from './random.ts';
import { TraceCheck } from './trace-check.ts';

export interface SimulationOptions {
  readonly seed: number;
  readonly configuration: Configuration;
  readonly members: readonly number[];
  readonly settings?: Pick<RaftConfig, 'priorityOf' | 'applyLagMax'>;
  /** Every step of every member is judged by `TraceCheck`. */
  readonly traced?: boolean;
}

interface Member {
  readonly id: number;
  log: MemoryLog;
  raft: Raft | undefined;
  incarnation: number;
  /** Handed out, in order, and not durable. */
  tasks: AppendTask[];
  /** Committed entries handed out and not applied. */
  unapplied: Entry[];
  applied: number;
  appliedTerm: number;
  configuration: Configuration;
  /** What the image holds durably. */
  image: SnapshotMeta;
  commit: number;
  term: number;
  reads: Map<number, number>;
  /** Its log is doubted until it has applied this; 0 when it is not. */
  doubtedUntil: number;
  /** Entries were really lost. */
  lossy: boolean;
  counter: number;
}

/** A cluster of cores over memory logs in which everything that may go wrong does. */
export class Simulation {
  readonly random: SeededRandom;
  readonly oracle = new Oracle();
  readonly members: Member[];
  readonly #settings: NonNullable<SimulationOptions['settings']>;
  readonly #traced: boolean;
  /** Names of all steps that were traced. */
  readonly traced = new Set<string>();
  network: Message[] = [];
  #blocked = new Set<number>();
  #proposed = 0;
  #snapshots: { from: number; to: number; meta: SnapshotMeta }[] = [];
  readonly counts = {
    changes: 0,
    elections: 0,
    reads: 0,
    readsDropped: 0,
    snapshots: 0,
    crashes: 0,
    damages: 0,
    unanimous: 0,
  };

  constructor(options: SimulationOptions) {
    this.random = new SeededRandom(options.seed);
    this.#settings = options.settings ?? {};
    this.#traced = options.traced ?? false;
    this.members = options.members.map((id) => ({
      id,
      log: new MemoryLog(options.configuration),
      raft: undefined,
      incarnation: 0,
      tasks: [],
      unapplied: [],
      applied: 0,
      appliedTerm: 0,
      configuration: options.configuration,
      image: { index: 0, term: 0, configuration: options.configuration },
      commit: 0,
      term: 0,
      reads: new Map(),
      doubtedUntil: 0,
      lossy: false,
      counter: 0,
    }));
    for (const member of this.members) this.start(member);
  }

  #config(member: Member): RaftConfig {
    const check = new TraceCheck(this.traced);
    return {
      ...this.#settings,
      ...(this.#traced ? { trace: check.take } : {}),
      id: member.id,
      incarnation: member.incarnation,
      electionTicks: 10,
      heartbeatTicks: 2,
      appendBytesMax: 120,
      appendEntriesMax: 3,
      inflightAppendsMax: 3,
      inflightBytesMax: 300,
      uncommittedBytesMax: 2000,
      committedBytesMax: 200,
      random: () => this.random.u32(),
      log: member.log,
      termStart: (last) => Buffer.from(`start after ${last?.index}`),
      mayCampaign: () => true,
      mayVote: () => member.doubtedUntil === 0,
    };
  }

  start(member: Member): void {
    member.incarnation++;
    const { image, log } = member;
    // The image may be ahead of the log, or not of one line with it, when the crash came between.
    if (log.term(image.index) !== image.term && image.index >= log.firstIndex() - 1) {
      log.write(snapshotTask(image));
    }
    log.setApplied(image.index, image.configuration);
    member.applied = image.index;
    member.appliedTerm = image.term;
    member.configuration = image.configuration;
    member.commit = 0;
    // A term that never reached the disk promised nothing and may be forgotten.
    member.term = log.initialState().hardState.term;
    member.raft = createRaft(this.#config(member));
    this.#check(member);
  }

  crash(member: Member): void {
    member.raft = undefined;
    member.tasks = [];
    member.unapplied = [];
    member.reads.clear();
    this.counts.crashes++;
  }

  /**
   * A member that is down finds its log damaged. Any number may be in doubt, but a minority only
   * really loses entries, so that each committed one is still somewhere. It is trusted again when
   * it has applied an entry behind all that it can have acknowledged, as by its `hello`.
   */
  damage(member: Member): void {
    if (member.raft !== undefined || member.log.pending) return;
    const lossy = this.members.filter((other) => other.lossy || other === member).length;
    const spare = lossy <= Math.floor(member.configuration.voters.length / 2);
    const lost = spare ? this.random.below(4) : 0;
    member.log = damagedLog(member.log, lost, member.configuration);
    member.lossy ||= lost > 0;
    const ends = this.members.map(({ log, tasks }) => {
      return Math.max(
        log.lastIndex() + lost,
        ...tasks.map(({ entries }) => entries.at(-1)?.index ?? 0),
      );
    });
    member.doubtedUntil = Math.max(...ends) + 1;
    this.counts.damages++;
  }

  /** As the driver does: a leader that counted lost entries does not send them again. */
  restore(member: Member): void {
    const { leader } = this;
    if (member.doubtedUntil === 0 || leader === undefined || leader === member) return;
    if (leader.applied > member.applied) this.#sendSnapshot(leader, member.id);
  }

  tick(member: Member): void {
    member.raft?.tick();
    this.process(member);
  }

  /** Blocks or opens all links of a random set of members. */
  partition(): void {
    this.#blocked.clear();
    if (this.random.chance(50)) return;
    for (const { id } of this.members) if (this.random.chance(30)) this.#blocked.add(id);
  }

  heal(): void {
    this.#blocked.clear();
  }

  deliver(at: number): void {
    const message = this.network[at]!;
    const last = this.network.pop()!;
    if (at < this.network.length) this.network[at] = last;
    const member = this.members.find(({ id }) => id === message.to);
    if (member?.raft === undefined) return;
    if (this.#blocked.has(message.from) !== this.#blocked.has(message.to)) return;
    member.raft.step(message);
    this.process(member);
  }

  persist(member: Member): void {
    const task = member.tasks.shift();
    if (task === undefined || member.raft === undefined) return;
    this.#written(member, task);
    member.log.write(task);
    member.raft.appendDone(task.sequence);
    for (const message of task.after) {
      if (message.to === member.id) member.raft.step(message);
      else this.network.push(message);
    }
    this.process(member);
  }

  #written(member: Member, task: AppendTask): void {
    let prevTerm = task.entries[0] && member.log.term(task.entries[0].index - 1);
    if (task.snapshot !== undefined && task.entries[0]?.index === task.snapshot.index + 1) {
      prevTerm = task.snapshot.term;
    }
    for (const entry of task.entries) {
      this.oracle.appended(entry, prevTerm);
      prevTerm = entry.term;
    }
  }

  apply(member: Member, count: number): void {
    const { raft } = member;
    if (raft === undefined) return;
    for (const entry of member.unapplied.splice(0, count)) {
      if (entry.index !== member.applied + 1) {
        throw new Error(
          `AppliedOrder: ${member.id} applies ${entry.index} after ${member.applied}`,
        );
      }
      this.oracle.applies(member.id, entry);
      this.#trust(member, entry.index);
      const { log } = member;
      if (entry.index >= log.firstIndex() && log.term(entry.index) !== entry.term) {
        throw new Error(`${member.id} applies ${entry.index}, which its disk does not hold`);
      }
      member.applied = entry.index;
      member.appliedTerm = entry.term;
      if (entry.type === EntryType.Configuration) {
        const configuration = JSON.parse(Buffer.from(entry.data).toString()) as Configuration;
        member.configuration = raft.applyConfiguration({ configuration });
        this.counts.changes++;
      }
      raft.appliedTo(entry.index);
    }
    this.process(member);
  }

  /** Makes the image durable and perhaps cuts the log. */
  checkpoint(member: Member, compact: boolean): void {
    if (member.raft === undefined) return;
    const { applied, appliedTerm, configuration, log } = member;
    member.image = { index: applied, term: appliedTerm, configuration };
    log.setApplied(applied, configuration);
    if (!compact || applied > log.lastIndex() || log.term(applied) !== appliedTerm) return;
    log.compact(applied);
    member.raft.compacted(log.firstIndex());
    this.process(member);
  }

  propose(member: Member): void {
    const data = Buffer.from(`value ${++this.#proposed}`);
    member.raft?.propose([data]);
    this.process(member);
  }

  /** Enters a joint configuration, leaves it, or changes one voter or learner directly. */
  reconfigure(member: Member): void {
    const present = member.configuration;
    const ids = this.members.map(({ id }) => id);
    let next: Configuration;
    if (present.votersOutgoing.length > 0) {
      const learners = [...present.learners, ...present.learnersNext].sort();
      next = { ...present, votersOutgoing: [], learners, learnersNext: [] };
    } else if (this.random.chance(60)) {
      next = this.#joint(present, ids);
    } else {
      next = this.#single(present, this.random.pick(ids));
    }
    member.raft?.proposeConfiguration(Buffer.from(JSON.stringify(next)));
    this.process(member);
  }

  #joint(present: Configuration, ids: readonly number[]): Configuration {
    const voters = ids.filter(() => this.random.chance(60));
    if (voters.length === 0) voters.push(this.random.pick(ids));
    const leaving = present.voters.filter((id) => !voters.includes(id));
    const learnersNext = leaving.filter(() => this.random.chance(50));
    const learners = present.learners.filter((id) => !voters.includes(id));
    return { voters, votersOutgoing: present.voters, learners, learnersNext, autoLeave: false };
  }

  #single(present: Configuration, id: number): Configuration {
    const others = present.voters.filter((voter) => voter !== id);
    if (others.length === 0) return present;
    const removes = present.voters.includes(id);
    const voters = removes ? others : [...others, id];
    const learners = present.learners.filter((learner) => learner !== id);
    return { ...present, voters, learners };
  }

  read(member: Member): void {
    if (member.raft === undefined) return;
    const counter = ++member.counter;
    member.reads.set(counter, this.oracle.commit);
    member.raft.readIndex({ member: member.id, incarnation: member.incarnation, counter });
    this.process(member);
  }

  process(member: Member): void {
    const { raft } = member;
    if (raft === undefined) return;
    while (raft.hasReady()) {
      const ready = raft.ready();
      this.network.push(...ready.messages);
      if (ready.append !== undefined) member.tasks.push(ready.append);
      member.unapplied.push(...ready.committed);
      for (const { context, index } of ready.readStates) {
        const least = member.reads.get(context.counter);
        if (least === undefined) throw new Error(`read ${context.counter} answered twice`);
        if (index < least) throw new Error(`Linearizable: read at ${index}, committed ${least}`);
        member.reads.delete(context.counter);
        this.counts.reads++;
      }
      for (const context of ready.readsDropped) {
        if (!member.reads.delete(context.counter)) throw new Error('read dropped twice');
        this.counts.readsDropped++;
      }
      for (const to of ready.snapshotsNeeded) this.#sendSnapshot(member, to);
      if (ready.soft?.role === 'leader') this.#elected(member);
    }
    this.#check(member);
  }

  /** LeaderCompleteness. */
  #elected(member: Member): void {
    this.counts.elections++;
    const { voters } = member.configuration;
    const sure = this.members.filter(({ id, doubtedUntil }) => {
      return voters.includes(id) && doubtedUntil === 0;
    });
    if (sure.length * 2 <= voters.length) this.counts.unanimous++;
    this.oracle.leads(member.id, member.raft!.term);
    const view = new Map<number, number>();
    let first = member.log.firstIndex();
    for (let i = first; i <= member.log.lastIndex(); i++) view.set(i, member.log.term(i)!);
    for (const task of member.tasks) {
      if (task.snapshot !== undefined) {
        view.clear();
        first = task.snapshot.index + 1;
      }
      for (const entry of task.entries) view.set(entry.index, entry.term);
    }
    for (const entry of this.oracle.committed) {
      if (entry.index < first || view.get(entry.index) === entry.term) continue;
      throw new Error(`LeaderCompleteness: ${member.id} lacks ${entry.index}`);
    }
  }

  #check(member: Member): void {
    const status = member.raft!.status();
    if (status.term < member.term) throw new Error(`term of ${member.id} went back`);
    if (status.commit < member.commit) throw new Error(`commit of ${member.id} went back`);
    member.term = status.term;
    member.commit = status.commit;
    for (const peer of status.peers) {
      if (peer.next <= peer.match) throw new Error(`next ${peer.next} ≤ match ${peer.match}`);
    }
    while (this.oracle.commit < status.commit) this.#commit(member, this.oracle.commit + 1);
  }

  #commit(member: Member, index: number): void {
    let found: Entry | undefined;
    for (const task of member.tasks) {
      found = task.entries.find((entry) => entry.index === index) ?? found;
    }
    const stored = member.log.entries(index, index + 1, 1);
    const entry = found ?? (typeof stored === 'string' ? undefined : stored[0]);
    if (entry === undefined) throw new Error(`${member.id} commits ${index} without holding it`);
    const logs = (ids: readonly number[]) =>
      // What a damaged member acknowledged and lost has been counted.
      this.members
        .filter(({ id }) => ids.includes(id))
        .map(({ log, lossy }) => (lossy ? undefined : log));
    const { voters, votersOutgoing } = member.configuration;
    this.oracle.commits(entry, [logs(voters), logs(votersOutgoing)]);
  }

  #trust(member: Member, applied: number): void {
    if (applied < member.doubtedUntil) return;
    member.doubtedUntil = 0;
    member.lossy = false;
  }

  #sendSnapshot(member: Member, to: number): void {
    const { applied, appliedTerm, configuration } = member;
    const meta = { index: applied, term: appliedTerm, configuration };
    this.#snapshots.push({ from: member.id, to, meta });
  }

  /** Ends one stream of a snapshot, well or badly. */
  finishSnapshot(failing: boolean): void {
    const stream = this.#snapshots.shift();
    if (stream === undefined) return;
    const target = this.members.find(({ id }) => id === stream.to)!;
    const source = this.members.find(({ id }) => id === stream.from)!;
    const { meta } = stream;
    const usable = target.raft !== undefined && target.raft.role !== 'leader';
    if (usable && !failing && meta.index > target.applied) {
      target.unapplied = target.unapplied.filter(({ index }) => index > meta.index);
      target.image = meta;
      target.applied = meta.index;
      target.appliedTerm = meta.term;
      target.configuration = meta.configuration;
      this.#trust(target, meta.index);
      target.raft?.snapshotInstalled(meta);
      this.counts.snapshots++;
      this.process(target);
    }
    source.raft?.reportSnapshot(stream.to, usable && !failing);
    this.process(source);
  }

  get leader(): Member | undefined {
    let newest: Member | undefined;
    for (const member of this.members) {
      if (member.raft?.role !== 'leader') continue;
      if (newest === undefined || member.raft.term > newest.raft!.term) newest = member;
    }
    return newest;
  }

  /** Everything works: lets `ticks` pass, delivering and writing all there is in between. */
  calm(ticks: number): void {
    for (let i = 0; i < ticks; i++) {
      for (const member of this.members) this.tick(member);
      for (const member of this.members) this.restore(member);
      this.drain();
    }
  }

  drain(): void {
    for (let rounds = 0; rounds < 1000; rounds++) {
      if (this.network.length === 0 && this.members.every(({ tasks }) => tasks.length === 0)) {
        if (this.#snapshots.length === 0) break;
      }
      while (this.network.length > 0) this.deliver(0);
      for (const member of this.members) {
        while (member.tasks.length > 0 && member.raft !== undefined) this.persist(member);
        this.apply(member, Number.MAX_SAFE_INTEGER);
      }
      this.finishSnapshot(false);
    }
    for (const member of this.members) this.apply(member, Number.MAX_SAFE_INTEGER);
  }
}

function snapshotTask(snapshot: SnapshotMeta): AppendTask {
  return { sequence: 0, entries: [], hardState: undefined, snapshot, mustSync: true, after: [] };
}
