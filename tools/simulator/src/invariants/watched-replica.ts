import type { Incarnation, LeaseHandle, MemberId, Sequence } from '@lockstep/model';
import type {
  BarrierWaiter,
  CommandWaiter,
  EventSink,
  MemberReplica,
  RenewalWaiter,
  Replica,
  ReplicaStatus,
} from '@lockstep/replica';
import type { StateView } from '@lockstep/state-machine';

/** Where what doors ask of their member is looked at on its way. */
export interface Watch {
  submit(command: Uint8Array, waiter: CommandWaiter): Sequence;
  barrier(waiter: BarrierWaiter): void;
}

/** The replica as the doors of a member get it. */
export class WatchedReplica implements Replica {
  readonly #replica: MemberReplica;
  readonly #watch: Watch;

  constructor(replica: MemberReplica, watch: Watch) {
    this.#replica = replica;
    this.#watch = watch;
  }

  get member(): MemberId {
    return this.#replica.member;
  }
  get incarnation(): Incarnation {
    return this.#replica.incarnation;
  }
  get state(): StateView {
    return this.#replica.state;
  }
  get inContact(): boolean {
    return this.#replica.inContact;
  }
  get serving(): boolean {
    return this.#replica.serving;
  }
  submit(command: Uint8Array, waiter?: CommandWaiter): Sequence {
    if (waiter === undefined) return this.#replica.submit(command);
    return this.#watch.submit(command, waiter);
  }
  barrier(waiter: BarrierWaiter): void {
    this.#watch.barrier(waiter);
  }
  renew(lease: LeaseHandle, waiter: RenewalWaiter): void {
    this.#replica.renew(lease, waiter);
  }
  readHistory(...[references, done]: Parameters<Replica['readHistory']>): void {
    this.#replica.readHistory(references, done);
  }
  subscribe(sink: EventSink): () => void {
    return this.#replica.subscribe(sink);
  }
  gossip(door: string, payload: Uint8Array): void {
    this.#replica.gossip(door, payload);
  }
  status(): ReplicaStatus {
    return this.#replica.status();
  }
  transferLeadership(...[target, done]: Parameters<Replica['transferLeadership']>): void {
    this.#replica.transferLeadership(target, done);
  }
}
