import type { BinaryWriter, ByteString, Incarnation, Sequence } from '@lockstep/model';
import type { Replica } from '@lockstep/replica';
import { encodeReleaseWaiter, type LockGrant, type WaiterEvent } from '@lockstep/state-machine';
import type { DoorSession } from './door-session.ts';
import { encodeWords } from './procedures.ts';
import type { Reply } from './reply.ts';
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
}

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
    this.#waits.set(slot.sequence, { slot, incarnation, session });
    if (session.closed) this.#replica.submit(encodeReleaseWaiter(slot.sequence));
  }

  /** The connection of a blocked command closed. */
  abandon(slot: Slot | undefined): void {
    if (!(slot instanceof LoggedSlot) || !this.#waits.has(slot.sequence)) return;
    this.#replica.submit(encodeReleaseWaiter(slot.sequence));
  }

  ended({ waiter, outcome, result }: WaiterEvent): void {
    if (waiter.origin !== this.#replica.member) return;
    const wait = this.#waits.get(waiter.request);
    if (wait === undefined || wait.incarnation !== waiter.incarnation) return;
    this.#waits.delete(waiter.request);
    const { slot, session } = wait;
    const argv = slot.argv ?? [];
    if (outcome !== 'served') session.unblock(slot, null);
    else if (session.closed) this.#giveBack(slot, argv, result as LockGrant);
    else session.unblock(slot, slot.spec.served!(session, argv, result, slot.db));
  }

  #giveBack(slot: LoggedSlot, argv: readonly ByteString[], { token }: LockGrant): void {
    const words = ['LOCK', 'RELEASE', argv[2]!, argv[3]!, 'TOKEN', String(token)];
    this.#replica.submit(encodeWords(this.#encoder, slot.db, undefined, words));
  }
}
