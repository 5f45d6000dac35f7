import { type LeaseHandle, LeaseKind, type Revision, type Timer } from '@lockstep/model';
import type { EventSink } from '@lockstep/replica';
import type { AppliedTransaction, StateView } from '@lockstep/state-machine';
import { DOOR, type DoorPayload } from './events.ts';
import { answerWord } from './four-letter.ts';
import { Reaper } from './reaper.ts';
import { Renewals } from './renewals.ts';
import { Session, type Wire } from './session.ts';
import type { DoorSettings } from './settings.ts';
import { Statistics } from './statistics.ts';
import { ZOOKEEPER_KEYSPACE } from './tree.ts';
import { Watches } from './watches.ts';

interface CatchingUp {
  readonly zxid: Revision;
  readonly timer: Timer;
  readonly reached: () => void;
}

/** All connections of one member: who is attached, who watches what, whose frames to write. */
export class Door implements EventSink {
  readonly settings: DoorSettings;
  readonly watches = new Watches();
  readonly statistics = new Statistics();
  readonly renewals: Renewals;
  readonly startedMs: number;

  readonly #connections = new Set<Session>();
  readonly #byLease = new Map<LeaseHandle, Session>();
  readonly #perAddress = new Map<string, number>();
  readonly #catchingUp = new Map<Session, CatchingUp>();
  readonly #reaper: Reaper;
  readonly #unsubscribe: () => void;
  #dirty: Session[] = [];
  #flushPosted = false;

  constructor(settings: DoorSettings) {
    this.settings = settings;
    const { replica, clock, tickMs } = settings;
    this.startedMs = clock.monotonicMs();
    this.renewals = new Renewals(replica, clock, Math.max(10, tickMs / 8));
    this.#reaper = new Reaper(replica, clock, settings.reapIntervalMs);
    this.#unsubscribe = replica.subscribe(this);
  }

  get state(): StateView {
    return this.settings.replica.state;
  }

  /** What replies carry: the last revision that changed the tree or a session (design §5). */
  get zxid(): Revision {
    return this.state.lastRevision(ZOOKEEPER_KEYSPACE, LeaseKind.ZooKeeper);
  }

  get connections(): ReadonlySet<Session> {
    return this.#connections;
  }

  /** A new connection; undefined: one too many from that address, close it without a byte. */
  accept(wire: Wire): Session | undefined {
    const { connectionsPerAddressMax } = this.settings;
    const present = this.#perAddress.get(wire.address) ?? 0;
    if (connectionsPerAddressMax > 0 && present >= connectionsPerAddressMax) return undefined;
    this.#perAddress.set(wire.address, present + 1);
    const session = new Session(this, wire);
    this.#connections.add(session);
    return session;
  }

  /** The session is attached; an older connection of it was closed by the event before. */
  register(session: Session): void {
    this.#byLease.set(session.lease, session);
  }

  /** The connection is over. */
  forget(session: Session): void {
    if (!this.#connections.delete(session)) return;
    const { address } = session.wire;
    const left = (this.#perAddress.get(address) ?? 1) - 1;
    if (left === 0) this.#perAddress.delete(address);
    else this.#perAddress.set(address, left);
    if (this.#byLease.get(session.lease) === session) this.#byLease.delete(session.lease);
    this.#catchingUp.get(session)?.timer.cancel();
    this.#catchingUp.delete(session);
    this.watches.dropWatcher(session);
    this.renewals.forget(session);
  }

  drain(): void {
    for (const session of [...this.#connections]) session.drain();
  }

  close(): void {
    this.#unsubscribe();
    this.#reaper.stop();
    this.#closeAll();
    this.renewals.stop();
  }

  #closeAll(): void {
    for (const session of this.#connections) session.close();
  }

  /** Closes a connection once the present call-back is done. */
  closeSoon(session: Session): void {
    this.settings.scheduler.post(() => session.close());
  }

  /** Has the connection's frames written at the end of this turn. */
  markDirty(session: Session): void {
    if (session.dirty) return;
    session.dirty = true;
    this.#dirty.push(session);
    if (this.#flushPosted) return;
    this.#flushPosted = true;
    this.settings.scheduler.post(() => {
      const dirty = this.#dirty;
      this.#dirty = [];
      this.#flushPosted = false;
      for (const one of dirty) {
        one.dirty = false;
        one.flush();
      }
    });
  }

  /**
   * Calls back once this member is in contact with the majority and has applied what the client
   * has seen elsewhere; at once as a rule. After an election timeout the connection is closed, and
   * the client tries another member.
   */
  whenCaughtUp(zxid: Revision, session: Session, reached: () => void): void {
    if (this.#inService && zxid <= this.zxid) {
      reached();
      return;
    }
    const { clock, electionTimeoutMs } = this.settings;
    const timer = clock.setTimer(electionTimeoutMs, () => session.close());
    this.#catchingUp.set(session, { zxid, timer, reached });
  }

  get #inService(): boolean {
    const { replica } = this.settings;
    return replica.inContact && replica.serving;
  }

  answerWord(word: string): string | undefined {
    return answerWord(word, this);
  }

  // ---- what the replica tells ----------------------------------------------------------------

  transaction({ events }: AppliedTransaction): void {
    for (const event of events) {
      if (event.kind === 'door' && event.door === DOOR) this.#told(event.payload as DoorPayload);
      else if (event.kind === 'lease-ended' && event.lease.kind === LeaseKind.ZooKeeper) {
        this.#byLease.get(event.lease.handle)?.ended();
      }
    }
    if (this.#catchingUp.size > 0) this.settings.scheduler.post(() => this.#wakeCaughtUp());
  }

  #told(payload: DoorPayload): void {
    if (payload.kind === 'node') {
      this.watches.fire(payload);
      return;
    }
    const stale = this.#byLease.get(payload.lease);
    if (stale !== undefined && stale.epoch < payload.epoch) stale.close();
  }

  #wakeCaughtUp(): void {
    if (!this.#inService) return;
    for (const [session, { zxid, timer, reached }] of this.#catchingUp) {
      if (zxid > this.zxid) continue;
      timer.cancel();
      this.#catchingUp.delete(session);
      reached();
    }
  }

  /** Events were skipped: clients reconnect and set their watches again, which catches them up. */
  skipped(): void {
    this.#closeAll();
  }

  /** Out of contact with the majority nobody may go on believing to hold what he held. */
  changed(): void {
    if (this.#inService) {
      this.#wakeCaughtUp();
      return;
    }
    for (const session of this.#connections) {
      if (session.isOpen) session.close();
    }
  }
}
