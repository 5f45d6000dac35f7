import type { Index, MemberId, Term } from '@lockstep/model';
import { type AppendTask, EntryType, type HardState } from '@lockstep/raft';
import type { LogState, LogStore, OpenLog } from '@lockstep/storage';
import { decodeFrame } from '@lockstep/transport';
import type { SimNode } from '../node.ts';
import { mixNumber } from '../seed.ts';
import type { Life, World } from '../world.ts';
import { Ballots } from './ballots.ts';
import { type Configurations, isQuorumOf } from './configurations.ts';
import type { History } from './history.ts';

/** A log as the invariants remember it; positions beyond `last` mean nothing. */
class LogCopy {
  base: Index = 0;
  last: Index = 0;
  hardState: HardState = { term: 0, vote: 0, commit: 0 };
  readonly terms: Term[] = [0];

  apply({ entries, snapshot, hardState }: AppendTask): void {
    if (hardState !== undefined) this.hardState = hardState;
    if (snapshot !== undefined) {
      this.base = snapshot.index;
      this.last = snapshot.index;
      this.terms[snapshot.index] = snapshot.term;
    }
    for (const { index, term } of entries) {
      this.terms[index] = term;
      this.last = index;
    }
  }

  copy(): LogCopy {
    const copy = new LogCopy();
    copy.base = this.base;
    copy.last = this.last;
    copy.hardState = this.hardState;
    for (let i = 0; i <= this.last; i++) copy.terms[i] = this.terms[i]!;
    return copy;
  }

  holds(index: Index, term: Term): boolean {
    return index <= this.base || (index <= this.last && this.terms[index] === term);
  }
}

interface NodeLog {
  /** What raft has handed over, written or not. */
  written: LogCopy;
  /** What was acknowledged as durable. */
  durable: LogCopy;
  pending: AppendTask[];
  isRotten: boolean;
  /** What it had acknowledged when damage took some of it. */
  lost: LogCopy | undefined;
  /** Term in which it leads. */
  leading: Term | undefined;
  /** Configuration entries of `written`, oldest first. */
  changes: Index[];
}

/**
 * The log's invariants: LogMatching, TruncateAboveCommit, LeaderCompleteness, ElectionSafety,
 * HardStateMonotone, DurableQuorum, ClusterTimeNotFast, LeaderAppendOnly, OneChange, and that a
 * restart finds everything that
 * was acknowledged and nothing that was never written (Raft §5.2–5.4; reference raft.md §4.4).
 */
export class Logs {
  readonly #world: World;
  readonly #history: History;
  readonly #configurations: Configurations;
  readonly #logs = new Map<MemberId, NodeLog>();
  /** Digest of the log up to (index, term); equal for equal pairs on all members. */
  readonly #chains = new Map<string, number>();
  /** When (index, term) was first seen, and so certainly proposed. */
  readonly #seenUs = new Map<string, number>();
  readonly #leaders = new Map<Term, MemberId>();
  readonly #ballots: Ballots;
  readonly #rateMax: number;
  /** Least of stamp/rate − proposal time over the canonical entries so far. */
  #timeFloorMs = Number.POSITIVE_INFINITY;

  constructor(world: World, history: History, configurations: Configurations, rateMax: number) {
    this.#world = world;
    this.#history = history;
    this.#configurations = configurations;
    this.#rateMax = rateMax;
    this.#ballots = new Ballots(world);
    this.#chains.set('0:0', 0);
    history.listeners.push({
      entry: (index, term, { time }) => this.#committed(index, term, time),
    });
  }

  /** Highest terms seen leading, for the trace. */
  get elections(): number {
    return this.#leaders.size;
  }

  watch(node: SimNode, life: Life, open: OpenLog): OpenLog {
    return (identity, bootstrap, handlers, done) =>
      open(identity, bootstrap, handlers, (error, log, state) => {
        if (error === undefined && life.alive) {
          this.#recovered(node, log, state);
          this.#intercept(node, life, log);
        }
        done(error, log, state);
      });
  }

  /** The node has begun to lead. */
  leads(node: SimNode, term: Term): void {
    const former = this.#leaders.get(term);
    if (former !== undefined && former !== node.id) {
      this.#fail('ElectionSafety', `members ${former} and ${node.id} both lead term ${term}`);
    }
    this.#leaders.set(term, node.id);
    this.#ballots.leads(node, term);
    const log = this.#of(node.id);
    const { written } = log;
    log.leading = term;
    for (let index = written.base + 1; index <= this.#history.lastIndex; index++) {
      const committed = this.#history.termAt(index)!;
      if (committed >= term) break;
      if (!written.holds(index, committed)) {
        const what = `entry ${index} of term ${committed}`;
        this.#fail('LeaderCompleteness', `leader ${node.id} of term ${term} lacks ${what}`);
        return;
      }
    }
  }

  /**
   * CommitOwnTerm: a leader counts replicas of its own term's entries only (Raft §5.4.2).
   * DurableQuorum: they are durable on a quorum of a configuration that was in force while it went
   * on to apply from the first to the second of `applied`.
   */
  commits(node: SimNode, index: Index, applied: readonly [Index, Index]): void {
    const { written, leading } = this.#of(node.id);
    const term = written.terms[index];
    if (leading === undefined || term === undefined) return;
    if (term !== leading) {
      const what = `entry ${index} of term ${term} by count`;
      this.#fail('CommitOwnTerm', `leader ${node.id} of term ${leading} commits ${what}`);
    }
    const holders = this.#holders(index, term);
    const configurations = this.#configurations.within(...applied);
    if (configurations.some((each) => isQuorumOf(each, holders))) return;
    const what = `entry ${index} of term ${term}, durable on ${[...holders].join()} only`;
    this.#fail('DurableQuorum', `leader ${node.id} commits ${what}`);
  }

  /** What rotted was durable once; such a member does not vote until it has caught up. */
  #holders(index: Index, term: Term): Set<MemberId> {
    const holders = new Set<MemberId>();
    for (const [id, { durable, isRotten }] of this.#logs) {
      if (isRotten || durable.holds(index, term)) holders.add(id);
    }
    return holders;
  }

  /**
   * DamagedAbstains: a member that damage took committed entries from, which it had acknowledged,
   * gives nobody its full vote until it has them again (raft.md §4.3).
   */
  sends(from: MemberId, frame: Uint8Array): void {
    const log = this.#logs.get(from);
    if (log?.lost === undefined) return;
    for (const message of decodeFrame(frame)) {
      if (message.kind !== 'vote-response' || message.preVote) continue;
      if (message.reject || message.conditional || !this.#lacks(log)) continue;
      const what = `member ${from} votes for ${message.to} in term ${message.term}`;
      this.#fail('DamagedAbstains', `${what} and lacks committed entries that it had`);
    }
  }

  #lacks({ lost, durable }: NodeLog): boolean {
    if (lost === undefined) return false;
    for (let index = lost.base + 1; index <= this.#history.lastIndex; index++) {
      const term = this.#history.termAt(index)!;
      if (lost.holds(index, term) && !durable.holds(index, term)) return true;
    }
    return false;
  }

  /** The node leads no more. */
  follows(node: SimNode): void {
    this.#of(node.id).leading = undefined;
  }

  /** Its disk is gone. What it held counts as held: others may have gone by its word. */
  wiped(node: SimNode): void {
    this.#of(node.id).lost = undefined;
    this.#restart(node, new LogCopy(), true, []);
  }

  /** The node applies an entry: only what its own disk holds. */
  applies(node: SimNode, index: Index, term: Term): void {
    const { durable } = this.#of(node.id);
    if (durable.holds(index, term)) return;
    this.#fail('AppliedOrder', `member ${node.id} applies ${index}, which is not durable here`);
  }

  #of(id: MemberId): NodeLog {
    let log = this.#logs.get(id);
    if (log === undefined) {
      const fresh = { pending: [], isRotten: false, lost: undefined, changes: [] };
      log = { written: new LogCopy(), durable: new LogCopy(), leading: undefined, ...fresh };
      this.#logs.set(id, log);
    }
    return log;
  }

  #intercept(node: SimNode, life: Life, log: LogStore): void {
    const append = log.append.bind(log);
    log.append = (task, done) => {
      if (life.alive) this.#appended(node, task);
      append(task, (sequence) => {
        if (life.alive) this.#durable(node, sequence);
        done(sequence);
      });
    };
  }

  #appended(node: SimNode, task: AppendTask): void {
    const log = this.#of(node.id);
    const { written, pending } = log;
    this.#checkHardState(node, written.hardState, task.hardState);
    const { snapshot } = task;
    if (snapshot !== undefined && !this.#chains.has(`${snapshot.index}:${snapshot.term}`)) {
      const what = `(${snapshot.index}, ${snapshot.term})`;
      this.#fail('SnapshotMeet', `member ${node.id} installs a snapshot at ${what}, never seen`);
    }
    let previous = snapshot ?? {
      index: (task.entries[0]?.index ?? 1) - 1,
      term: written.terms[(task.entries[0]?.index ?? 1) - 1] ?? 0,
    };
    for (const { index, term, data } of task.entries) {
      const committed = this.#history.termAt(index);
      const overwrites = index <= written.last && written.terms[index] !== term;
      if (overwrites && committed !== undefined && committed === written.terms[index]) {
        this.#fail('TruncateAboveCommit', `member ${node.id} overwrites committed entry ${index}`);
      }
      let chain = mixNumber(this.#chains.get(`${previous.index}:${previous.term}`) ?? -1, term);
      for (const byte of data) chain = Math.imul(chain ^ byte, 0x01000193);
      const key = `${index}:${term}`;
      const known = this.#chains.get(key);
      if (known === undefined) {
        this.#chains.set(key, chain);
        this.#seenUs.set(key, this.#world.nowUs);
      } else if (known !== chain) {
        this.#fail('LogMatching', `member ${node.id} differs up to (${index}, ${term})`);
      }
      previous = { index, term };
    }
    const [first] = task.entries;
    const raft = node.replica?.raft;
    const leads = raft?.role === 'leader' && raft.term === log.leading;
    if (leads && first !== undefined && first.index <= written.last) {
      const what = `from ${first.index}, it ended at ${written.last}`;
      this.#fail('LeaderAppendOnly', `leader ${node.id} writes its log anew ${what}`);
    }
    written.apply(task);
    pending.push(task);
    this.#checkChanges(node, log, task);
  }

  /** OneChange: a leader appends a change of configuration only once the last one is applied. */
  #checkChanges(node: SimNode, log: NodeLog, { entries, snapshot }: AppendTask): void {
    const from = snapshot?.index ?? (entries[0]?.index ?? Number.POSITIVE_INFINITY) - 1;
    if (log.changes.length > 0) log.changes = log.changes.filter((index) => index <= from);
    for (const { index, type } of entries) {
      if (type !== EntryType.Configuration) continue;
      log.changes.push(index);
      const open = log.changes.filter((each) => each > this.#history.lastIndex);
      if (open.length < 2) continue;
      this.#fail('OneChange', `member ${node.id} has open changes at ${open.join(' and ')}`);
    }
  }

  #checkHardState(node: SimNode, before: HardState, after: HardState | undefined): void {
    if (after === undefined) return;
    const back = after.term < before.term;
    const twice = after.term === before.term && before.vote !== 0 && after.vote !== before.vote;
    if (!back && !twice) return;
    const text = ({ term, vote }: HardState) => `term ${term} vote ${vote}`;
    this.#fail('HardStateMonotone', `member ${node.id}: ${text(before)} then ${text(after)}`);
  }

  #durable(node: SimNode, sequence: number): void {
    const { durable, pending } = this.#of(node.id);
    while (pending[0] !== undefined && pending[0].sequence <= sequence) {
      durable.apply(pending.shift()!);
      this.#ballots.durable(node.id, durable.hardState);
    }
  }

  /** A restart finds the durable log, perhaps with some of the tasks that were being written. */
  #recovered(node: SimNode, log: LogStore, state: LogState): void {
    const known = this.#of(node.id);
    let reason = mismatch(known.durable, log, state);
    const found = known.durable.copy();
    const [first] = [reason];
    for (const task of known.pending) {
      if (reason === undefined) break;
      found.apply(task);
      reason = mismatch(found, log, state);
    }
    if (node.damaged && (reason !== undefined || state.health === 'damaged')) {
      this.#rotted(node, log, state);
      return;
    }
    if (reason !== undefined) {
      this.#fail('DurableLog', `member ${node.id} restarts with another log: ${first}`);
      return;
    }
    // A tear is none: what a power loss leaves half written was promised to nobody.
    if (state.health === 'damaged' && !node.damaged && node.disk.misreads === 0) {
      this.#fail('DurableLog', `member ${node.id} calls its log damaged, which nothing damaged`);
    }
    const { hardState } = state;
    if (hardState.term < known.durable.hardState.term) {
      const what = `term ${hardState.term}, ${known.durable.hardState.term} was durable`;
      this.#fail('HardStateMonotone', `member ${node.id} restarts with ${what}`);
    }
    const same = hardState.term === known.durable.hardState.term;
    const { vote } = known.durable.hardState;
    if (same && vote !== 0 && vote !== hardState.vote) {
      this.#fail('HardStateMonotone', `member ${node.id} forgets its vote for ${vote}`);
    }
    found.hardState = hardState;
    this.#ballots.durable(node.id, hardState);
    this.#restart(node, found, known.isRotten, known.changes);
  }

  /** Bit rot took what was durable: the log goes on from what is left, if it says so itself. */
  #rotted(node: SimNode, log: LogStore, state: LogState): void {
    if (state.health !== 'damaged') {
      this.#fail('DurableLog', `member ${node.id} has a rotten log and calls it ${state.health}`);
    }
    const known = this.#of(node.id);
    if (!this.#lacks(known)) known.lost = known.durable;
    const left = new LogCopy();
    left.base = state.snapshotIndex;
    left.last = state.lastIndex;
    left.hardState = state.hardState;
    for (let index = state.firstIndex - 1; index <= state.lastIndex; index++) {
      left.terms[index] = log.term(index) ?? 0;
    }
    this.#restart(node, left, true, known.changes);
  }

  #restart(node: SimNode, durable: LogCopy, isRotten: boolean, changes: readonly Index[]): void {
    this.#logs.set(node.id, {
      written: durable.copy(),
      durable,
      pending: [],
      isRotten,
      lost: this.#of(node.id).lost,
      leading: undefined,
      changes: changes.filter((index) => index <= durable.last),
    });
  }

  #committed(index: Index, term: Term, time: number): void {
    const holders = this.#holders(index, term);
    if (!this.#configurations.isQuorum(holders)) {
      const what = `entry ${index} of term ${term}`;
      this.#fail('DurableQuorum', `${what} is applied but durable on ${[...holders].join()} only`);
    }
    const seenUs = this.#seenUs.get(`${index}:${term}`) ?? this.#world.nowUs;
    const levelMs = time / this.#rateMax - seenUs / 1000;
    if (levelMs > this.#timeFloorMs + 2) {
      const fast = (levelMs - this.#timeFloorMs).toFixed(1);
      this.#fail('LeaseNeverEarly', `cluster time at entry ${index} is ${fast} ms too fast`);
    }
    this.#timeFloorMs = Math.min(this.#timeFloorMs, levelMs);
  }

  #fail(invariant: string, message: string): void {
    this.#world.fail(invariant, message);
  }
}

function mismatch(copy: LogCopy, log: LogStore, state: LogState): string | undefined {
  if (state.lastIndex !== copy.last) return `last is ${state.lastIndex}, was ${copy.last}`;
  for (let index = state.firstIndex - 1; index <= state.lastIndex; index++) {
    if (index <= copy.base || index === 0) continue;
    const term = log.term(index);
    if (term !== copy.terms[index]) {
      return `entry ${index} is of term ${term}, was of ${copy.terms[index]}`;
    }
  }
  return undefined;
}
