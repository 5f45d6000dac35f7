import type { Incarnation, Index, LockstepError, MemberId, Sequence } from '@lockstep/model';
import type { BarrierWaiter, CommandWaiter, MemberReplica, Replica } from '@lockstep/replica';
import type { CommandOutcome } from '@lockstep/state-machine';
import type { SimNode } from '../node.ts';
import type { World } from '../world.ts';
import type { CanonicalResult, History } from './history.ts';
import { WatchedReplica } from './watched-replica.ts';

interface Submission {
  readonly key: string;
  readonly node: SimNode;
  /** Ordinal of the newest result acknowledged anywhere when this was submitted. */
  readonly floor: number;
  settled: boolean;
}

/** Last number that took effect, per incarnation of a member. */
interface OriginProgress {
  incarnation: Incarnation;
  sequence: Sequence;
}

/**
 * What clients may rely on: each command at most once and in its origin's order; what was
 * acknowledged is in the history, and behind everything acknowledged before it was submitted
 * (linearizability of writes); what was refused for certain never applies; a barrier sees all
 * that was acknowledged before; every waiter is called once.
 */
export class Commands {
  readonly #world: World;
  readonly #history: History;
  readonly #progress = new Map<MemberId, OriginProgress>();
  /** Commands whose clients were told that they certainly do not apply. */
  readonly #refused = new Set<string>();
  readonly #open = new Set<Submission>();
  readonly #openBarriers = new Map<() => boolean, SimNode>();
  #ackedOrdinal = -1;
  #ackedIndex: Index = 0;
  /** Members whose removal was asked for. */
  readonly removed = new Set<MemberId>();
  acknowledged = 0;
  refused = 0;
  unknown = 0;
  barriers = 0;

  constructor(world: World, history: History) {
    this.#world = world;
    this.#history = history;
    history.listeners.push({ result: (key, outcome, at) => this.#applied(key, outcome, at) });
  }

  /** Waiters of living processes that were not called yet. */
  get waiting(): number {
    return this.#open.size + this.#openBarriers.size;
  }

  submit(
    node: SimNode,
    replica: MemberReplica,
    command: Uint8Array,
    done: (outcome: CommandOutcome | undefined) => void,
  ): Sequence {
    return this.#submit(node, replica, command, {
      applied: done,
      failed: () => done(undefined),
    });
  }

  barrier(node: SimNode, replica: MemberReplica, reached: () => void, failed: () => void): void {
    this.#barrier(node, replica, { reached, failed });
  }

  /** The replica as the doors of a member get it: all that they ask for is checked. */
  watched(node: SimNode, replica: MemberReplica): Replica {
    return new WatchedReplica(replica, {
      submit: (command, waiter) => this.#submit(node, replica, command, waiter),
      barrier: (waiter) => this.#barrier(node, replica, waiter),
    });
  }

  #submit(
    node: SimNode,
    replica: MemberReplica,
    command: Uint8Array,
    waiter: CommandWaiter,
  ): Sequence {
    const { life } = node;
    const { incarnation } = replica;
    const submission = {
      key: '',
      node,
      floor: this.#ackedOrdinal,
      settled: false,
    };
    this.#open.add(submission);
    const sequence = replica.submit(command, {
      applied: (outcome) => {
        if (!life.alive || !this.#settle(submission)) return;
        this.#acknowledge(submission, outcome);
        waiter.applied(outcome);
      },
      failed: (error) => {
        if (!life.alive || !this.#settle(submission)) return;
        this.#fail(submission, error);
        waiter.failed(error);
      },
    });
    if (!life.alive) this.#open.delete(submission);
    if (sequence !== 0) submission.key = `${node.id}/${incarnation}/${sequence}`;
    return sequence;
  }

  #barrier(node: SimNode, replica: MemberReplica, waiter: BarrierWaiter): void {
    const { life } = node;
    const floor = this.#ackedIndex;
    let settled = false;
    const settle = (): boolean => {
      if (!life.alive) return false;
      if (settled) this.#world.fail('WaiterOnce', `a barrier of member ${node.id} ends twice`);
      settled = true;
      this.#openBarriers.delete(settle);
      return true;
    };
    this.#openBarriers.set(settle, node);
    replica.barrier({
      reached: (times) => {
        if (!settle()) return;
        this.barriers += 1;
        const { appliedIndex } = replica.state;
        if (appliedIndex < floor) {
          const what = `at index ${appliedIndex}, acknowledged was ${floor}`;
          this.#world.fail('LinearizableRead', `a barrier of member ${node.id} is reached ${what}`);
        }
        waiter.reached(times);
      },
      failed: (error) => {
        if (settle()) waiter.failed(error);
      },
    });
  }

  /** The clients of a life are gone with it. */
  ended(node: SimNode): void {
    for (const submission of this.#open) {
      if (submission.node === node) this.#open.delete(submission);
    }
    for (const [barrier, at] of this.#openBarriers) {
      if (at === node) this.#openBarriers.delete(barrier);
    }
  }

  /** Every acknowledged command stands in the history that a member with `applied` has. */
  checkKept(applied: Index): void {
    if (applied < this.#ackedIndex) {
      const what = `${this.#ackedIndex} was acknowledged, the cluster is at ${applied}`;
      this.#world.fail('NoAckedLoss', what);
    }
  }

  #settle(submission: Submission): boolean {
    if (submission.settled) {
      this.#world.fail('WaiterOnce', `command ${submission.key} is answered twice`);
      return false;
    }
    submission.settled = true;
    this.#open.delete(submission);
    return true;
  }

  #acknowledge(submission: Submission, outcome: CommandOutcome): void {
    const { key, floor } = submission;
    if (outcome.kind === 'void' && outcome.reason !== 'budget') return;
    const at = this.#history.resultOf(key);
    if (at === undefined) {
      this.#world.fail('NoAckedLoss', `command ${key} is acknowledged but not applied`);
      return;
    }
    if (at.ordinal <= floor) {
      const what = `result ${at.ordinal}, ${floor} was acknowledged before it was submitted`;
      this.#world.fail('LinearizableWrite', `command ${key} is ${what}`);
    }
    this.acknowledged += 1;
    this.#ackedOrdinal = Math.max(this.#ackedOrdinal, at.ordinal);
    this.#ackedIndex = Math.max(this.#ackedIndex, at.index);
  }

  #fail({ key, node }: Submission, error: LockstepError): void {
    if (error.outcome === 'unknown') {
      this.unknown += 1;
      return;
    }
    this.refused += 1;
    // Under the id of a lost disk the numbers begin anew; nothing of it may ever apply.
    if (key === '' || node.isWiped) return;
    this.#refused.add(key);
    if (this.#history.resultOf(key) !== undefined) {
      this.#world.fail('FailedForCertain', `command ${key} failed (${error.code}) but applied`);
    }
  }

  #applied(key: string, outcome: CommandOutcome, _at: CanonicalResult): void {
    const [member, incarnation, sequence] = key.split('/').map(Number) as [number, number, number];
    if (sequence === 0) return;
    if (outcome.kind === 'done' && this.#refused.has(key)) {
      this.#world.fail('FailedForCertain', `command ${key} applies after it failed for certain`);
    }
    const skipped = ['duplicate', 'gap', 'old-incarnation'];
    if (outcome.kind === 'void' && skipped.includes(outcome.reason)) return;
    const last = this.#progress.get(member) ?? { incarnation: 0, sequence: 0 };
    const follows =
      incarnation === last.incarnation
        ? sequence === last.sequence + 1
        : incarnation > last.incarnation && sequence === 1;
    // The hello of a member that was removed is answered, again and again, and changes nothing.
    const isHello = sequence === 1 && incarnation === last.incarnation;
    if (!follows && !(isHello && this.removed.has(member))) {
      const what = `${key} applies behind ${last.incarnation}/${last.sequence}`;
      this.#world.fail('OnceAndInOrder', what);
    }
    this.#progress.set(member, { incarnation, sequence });
  }
}
