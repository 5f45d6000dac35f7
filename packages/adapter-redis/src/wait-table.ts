import type { BinaryWriter, ByteString, Incarnation, Sequence } from '@lockstep/model';
import type { Replica } from '@lockstep/replica';
import { encodeReleaseWaiter, type LockGrant, type WaiterEvent } from '@lockstep/state-machine';
import type { DoorSession } from './door-session.ts';
import { keyspaceOf } from './keyspaces.ts';
import { encodeWords } from './procedures.ts';
import { error, type Reply } from './reply.ts';
import { LoggedSlot, type Slot } from './slot.ts';

/** A connection whose command waits in a queue of the cluster. */
export interface BlockedSession extends DoorSession {
  readonly closed: boolean;
  unblock(slot: LoggedSlot, reply: Reply): void;
}

interface Wait {
  readonly slot: LoggedSlot;
  readonly incarnation: Incarnation;
  readonly session: BlockedSession;
  /** What it is answered when it leaves the queue unserved. */
  unserved: Reply;
}

const UNBLOCKED = error('UNBLOCKED client unblocked via CLIENT UNBLOCK');

/**
 * Commands of this member that queued a waiter, by their number: the waiter's event finds its
 * connection here. When the client is gone its place, or the lock it got meanwhile, is given back.
 */
export class WaitTable {
  readonly #waits = new Map<Sequence, Wait>();
  readonly #replica: Replica;
  readonly #encoder: BinaryWriter;

  constructor(replica: Replica, encoder: BinaryWriter) {
    this.#replica = replica;
    this.#encoder = encoder;
  }

  add(slot: LoggedSlot, session: BlockedSession): void {
    const { incarnation } = this.#replica;
    this.#waits.set(slot.sequence, { slot, incarnation, session, unserved: null });
    if (session.closed) this.#replica.submit(encodeReleaseWaiter(slot.sequence));
  }

  /** The connection of a blocked command closed. */
  abandon(slot: Slot | undefined): void {
    if (!(slot instanceof LoggedSlot) || !this.#waits.has(slot.sequence)) return;
    this.#replica.submit(encodeReleaseWaiter(slot.sequence));
  }

  /** CLIENT UNBLOCK: the reply comes when the log has taken the waiter out, unless it is served
   * before. False when the slot does not wait. */
  leave(slot: Slot | undefined, withError: boolean): boolean {
    const wait = slot instanceof LoggedSlot ? this.#waits.get(slot.sequence) : undefined;
    if (wait === undefined) return false;
    if (withError) wait.unserved = UNBLOCKED;
    this.#replica.submit(encodeReleaseWaiter(wait.slot.sequence));
    return true;
  }

  /** A snapshot was installed: who left the queue in between never gets an event here, and what
   * it got ends with its expiry or its connection. */
  skipped(): void {
    const { member, state } = this.#replica;
    for (const [request, { slot, incarnation }] of this.#waits) {
      const waiters = state.waiters(keyspaceOf(slot.db), slot.argv?.[2] ?? '');
      const isQueued = waiters.some(
        (waiter) =>
          waiter.request === request &&
          waiter.origin === member &&
          waiter.incarnation === incarnation,
      );
      if (!isQueued) this.#waits.delete(request);
    }
  }

  /** Commands known to wait, or not yet known to have stopped. */
  get size(): number {
    return this.#waits.size;
  }

  ended({ waiter, outcome, result }: WaiterEvent): void {
    if (waiter.origin !== this.#replica.member) return;
    const wait = this.#waits.get(waiter.request);
    if (wait === undefined || wait.incarnation !== waiter.incarnation) return;
    this.#waits.delete(waiter.request);
    const { slot, session, unserved } = wait;
    const argv = slot.argv ?? [];
    if (outcome !== 'served') session.unblock(slot, unserved);
    else if (session.closed) this.#giveBack(slot, argv, result as LockGrant);
    else session.unblock(slot, slot.spec.served!(session, argv, result, slot.db));
  }

  #giveBack(slot: LoggedSlot, argv: readonly ByteString[], { token }: LockGrant): void {
    const words = ['LOCK', 'RELEASE', argv[2]!, argv[3]!, 'TOKEN', String(token)];
    this.#replica.submit(encodeWords(this.#encoder, slot.db, undefined, words));
  }
}
