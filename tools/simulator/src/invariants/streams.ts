import type { MemberReplica } from '@lockstep/replica';
import type { AppliedTransaction } from '@lockstep/state-machine';
import type { SimNode } from '../node.ts';
import type { World } from '../world.ts';
import { digestOf, type History } from './history.ts';

/** What a member's machine said last, and what its subscribers must have seen. */
export interface StreamCursor {
  /** Ordinal of the next transaction that subscribers must see. */
  next: number;
  last: AppliedTransaction | undefined;
  lastOrdinal: number;
}

/**
 * WatchOrdered, WatchUnique and WatchReliable: the subscribers of a member see every transaction
 * of the history, in order, once, from the index at which it opened; only after `skipped` may
 * there be a gap, which ends at the state that was installed.
 */
export class Streams {
  readonly #world: World;
  readonly #history: History;
  readonly #cursors = new Map<SimNode, StreamCursor>();
  skips = 0;
  seen = 0;

  constructor(world: World, history: History) {
    this.#world = world;
    this.#history = history;
  }

  opened(node: SimNode, replica: MemberReplica): void {
    const { life } = node;
    const next = this.#history.transactionsThrough(replica.state.appliedIndex);
    const cursor: StreamCursor = { next, last: undefined, lastOrdinal: -1 };
    this.#cursors.set(node, cursor);
    replica.subscribe({
      transaction: (transaction) => {
        if (life.alive) this.#saw(node, cursor, transaction);
      },
      skipped: (from, to) => {
        if (!life.alive) return;
        this.skips += 1;
        if (from > to) this.#fail(node, `skipped revisions ${from} to ${to}`);
        cursor.next = this.#history.transactionsThrough(replica.state.appliedIndex);
      },
    });
  }

  ended(node: SimNode): void {
    this.#cursors.delete(node);
  }

  /** The machine reports this transaction; the subscribers hear of it at once. */
  said(node: SimNode, transaction: AppliedTransaction, ordinal: number): void {
    const cursor = this.#cursors.get(node);
    if (cursor === undefined) return;
    cursor.last = transaction;
    cursor.lastOrdinal = ordinal;
  }

  /** The transaction was reported: by now the subscribers must have seen it. */
  checkSeen(node: SimNode, ordinal: number): void {
    const cursor = this.#cursors.get(node);
    if (cursor === undefined || cursor.next > ordinal) return;
    this.#fail(node, `transaction ${ordinal} was applied but not seen`);
  }

  #saw(node: SimNode, cursor: StreamCursor, transaction: AppliedTransaction): void {
    this.seen += 1;
    const { last, lastOrdinal } = cursor;
    if (last !== transaction && (last === undefined || digestOf(last) !== digestOf(transaction))) {
      this.#fail(node, 'sees a transaction that was not applied');
    } else if (lastOrdinal !== cursor.next) {
      this.#fail(node, `sees transaction ${lastOrdinal}, ${cursor.next} was next`);
    }
    cursor.next = lastOrdinal + 1;
  }

  #fail(node: SimNode, what: string): void {
    this.#world.fail('WatchReliable', `a subscriber of member ${node.id} ${what}`);
  }
}
