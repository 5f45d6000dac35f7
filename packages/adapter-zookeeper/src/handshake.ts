import { copyBytes, type LockstepError, type Timer } from '@lockstep/model';
import type { CommandWaiter } from '@lockstep/replica';
import type { CommandOutcome, Lease } from '@lockstep/state-machine';
import { JuteError, JuteReader } from './jute.ts';
import {
  attachSessionCommand,
  closeSessionCommand,
  openSessionCommand,
  type SessionArguments,
  type SessionResult,
} from './procedures/sessions.ts';
import { type ConnectRequest, readConnectRequest, writeConnectResponse } from './records.ts';
import type { Session } from './session.ts';

const PASSWORD_BYTES = 16;
const NO_PASSWORD = new Uint8Array(PASSWORD_BYTES);

/**
 * From the first frame to the session: waits for the state the client has seen, opens or attaches
 * the session through the log, and answers.
 */
export class Handshake implements CommandWaiter {
  readonly #session: Session;
  readonly #timeout: Timer;
  #request: ConnectRequest | undefined;
  #arguments: SessionArguments | undefined;
  /** Monotonic time of the command: the session's time counts from no earlier than that. */
  #submittedMs = 0;
  #cancelled = false;

  constructor(session: Session) {
    this.#session = session;
    const { clock, handshakeTimeoutMs } = session.door.settings;
    this.#timeout = clock.setTimer(handshakeTimeoutMs, () => session.close());
  }

  /** The handshake is over, one way or the other. */
  cancel(): void {
    this.#cancelled = true;
    this.#timeout.cancel();
  }

  begin(frame: Buffer): void {
    let request: ConnectRequest;
    try {
      request = readConnectRequest(new JuteReader(frame));
    } catch (error) {
      if (!(error instanceof JuteError)) throw error;
      this.#session.close();
      return;
    }
    // The password is a view on the frame and is needed later.
    this.#request = { ...request, password: copyBytes(request.password) };
    this.#session.door.whenCaughtUp(request.lastZxidSeen, this.#session, () => this.#submit());
  }

  #submit(): void {
    const request = this.#request;
    if (this.#cancelled || request === undefined) return;
    const { settings } = this.#session.door;
    const { sessionTimeoutMinMs, sessionTimeoutMaxMs, replica } = settings;
    const atLeast = Math.max(request.timeoutMs, sessionTimeoutMinMs);
    const timeoutMs = Math.min(atLeast, sessionTimeoutMaxMs);
    this.#submittedMs = settings.clock.monotonicMs();
    if (request.sessionId === 0n) {
      const password = new Uint8Array(PASSWORD_BYTES);
      settings.random.fill(password);
      this.#arguments = { id: this.#drawId(), timeoutMs, password };
      replica.submit(openSessionCommand(this.#arguments), this);
    } else {
      this.#arguments = { id: request.sessionId, timeoutMs, password: request.password };
      replica.submit(attachSessionCommand(this.#arguments), this);
    }
  }

  /** Positive, with the member in the top byte as in ZooKeeper; the log refuses a taken one. */
  #drawId(): bigint {
    const { replica, random } = this.#session.door.settings;
    const member = BigInt(replica.member & 0x7f);
    const high = BigInt(random.u32() & 0xffffff);
    const low = BigInt(random.u32() || 1);
    return (member << 56n) | (high << 32n) | low;
  }

  applied(outcome: CommandOutcome): void {
    const lease = outcome.kind === 'done' ? (outcome.result as SessionResult) : undefined;
    if (this.#cancelled) {
      this.#abandon(lease);
      return;
    }
    if (outcome.kind === 'void') this.#session.close();
    else if (lease !== undefined && this.#isLate(lease)) this.#giveUp(lease);
    else if (lease !== undefined) this.#succeed(lease);
    else if (this.#request?.sessionId === 0n) this.#submit();
    else this.#refuse();
  }

  failed(_error: LockstepError): void {
    this.#session.close();
  }

  /** A member far behind learns so late of the session that it may be over already. */
  #isLate(lease: Lease): boolean {
    return this.#session.door.renewals.isUncertain(this.#submittedMs, lease.ttlMs);
  }

  #giveUp(lease: Lease): void {
    this.#abandon(lease);
    this.#session.close();
  }

  #succeed(lease: Lease): void {
    const session = this.#session;
    this.cancel();
    const { password = NO_PASSWORD } = this.#arguments ?? {};
    const readOnly = this.#request?.readOnly;
    writeConnectResponse(session.frames, lease.ttlMs, lease.id, password, readOnly);
    session.countSent();
    session.door.markDirty(session);
    session.opened(lease, this.#submittedMs);
  }

  /** A timeout of zero says that the session has expired. Never a fresh one in its place. */
  #refuse(): void {
    this.cancel();
    const session = this.#session;
    writeConnectResponse(session.frames, 0, 0n, NO_PASSWORD, this.#request?.readOnly);
    session.countSent();
    session.finish();
  }

  /** The client left before it learned of its new session: nobody can ever use it. */
  #abandon(lease: Lease | undefined): void {
    if (lease === undefined || this.#request?.sessionId !== 0n) return;
    const { replica } = this.#session.door.settings;
    replica.submit(closeSessionCommand({ lease: lease.handle, epoch: lease.epoch }));
  }
}
