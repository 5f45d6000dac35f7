import type { Clock, LockstepError, Timer } from '@lockstep/model';
import type { RenewalWaiter, Replica } from '@lockstep/replica';
import type { Session } from './session.ts';

/**
 * Keeps sessions alive through the log. Any frame of a client counts, reads and pings alike. A
 * session is renewed at once when its last renewal is a quarter of its timeout old; a frame that
 * comes sooner is remembered and renewed when that quarter is over. So a busy session costs at most
 * four renewals per timeout, and one that falls silent lives at least its timeout from its last
 * frame and at most a quarter (and one sweep) longer: late is allowed, early never. A session whose
 * renewals are not confirmed for two thirds of its timeout is closed here.
 */
export class Renewals {
  readonly #replica: Replica;
  readonly #clock: Clock;
  readonly #sweepMs: number;
  readonly #touched = new Set<Session>();
  #timer: Timer | undefined;

  constructor(replica: Replica, clock: Clock, sweepMs: number) {
    this.#replica = replica;
    this.#clock = clock;
    this.#sweepMs = sweepMs;
  }

  /** The client sent something. */
  touch(session: Session): void {
    if (!session.renewing && this.#isDue(session)) {
      this.#renew(session);
      return;
    }
    this.#touched.add(session);
    this.#timer ??= this.#clock.setTimer(this.#sweepMs, () => this.#sweep());
  }

  forget(session: Session): void {
    this.#touched.delete(session);
  }

  stop(): void {
    this.#timer?.cancel();
    this.#touched.clear();
  }

  /** What was asked for that long ago, and did take effect, leaves too little time to rely on. */
  isUncertain(askedAtMs: number, timeoutMs: number): boolean {
    return this.#clock.monotonicMs() - askedAtMs > (timeoutMs * 2) / 3;
  }

  #isDue(session: Session): boolean {
    return this.#clock.monotonicMs() - session.renewedAtMs >= session.timeoutMs / 4;
  }

  /**
   * Its renewals do not get through although the leader is heard: the log stands still. Closed now,
   * its client learns of it while the session still lives; answered on, it would believe in a
   * session that ends as soon as the log moves again.
   */
  isInDoubt(session: Session): boolean {
    const { renewedAtMs, confirmedAtMs, timeoutMs } = session;
    if (renewedAtMs === confirmedAtMs) return false;
    return this.isUncertain(confirmedAtMs, timeoutMs);
  }

  #sweep(): void {
    this.#timer = undefined;
    for (const session of [...this.#touched]) {
      if (this.isInDoubt(session)) {
        session.close();
        continue;
      }
      if (session.renewing || !this.#isDue(session)) continue;
      this.#touched.delete(session);
      this.#renew(session);
    }
    if (this.#touched.size === 0) return;
    this.#timer = this.#clock.setTimer(this.#sweepMs, () => this.#sweep());
  }

  #renew(session: Session): void {
    session.renewing = true;
    session.renewedAtMs = this.#clock.monotonicMs();
    this.#replica.renew(session.lease, new Renewal(this, session));
  }
}

class Renewal implements RenewalWaiter {
  readonly #renewals: Renewals;
  readonly #session: Session;
  readonly #sentAtMs: number;

  constructor(renewals: Renewals, session: Session) {
    this.#renewals = renewals;
    this.#session = session;
    this.#sentAtMs = session.renewedAtMs;
  }

  renewed(alive: boolean): void {
    this.#session.renewing = false;
    this.#session.confirmedAtMs = this.#sentAtMs;
    if (!alive) this.#session.ended();
  }

  /** Tried again with the next sweep: whether it was applied does not matter. */
  failed(_error: LockstepError): void {
    this.#session.renewing = false;
    if (this.#session.isOpen) this.#renewals.touch(this.#session);
  }
}
