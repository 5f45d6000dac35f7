import {
  type ByteString,
  type CommandSession,
  type LeaseHandle,
  LIMITS,
  type Revision,
  type Timer,
} from '@lockstep/model';
import type { Lease } from '@lockstep/state-machine';
import { type Acl, encodeIdentities, type Identity, permits } from './acl.ts';
import { authenticate } from './authentication.ts';
import { type Request, readRequest } from './codec.ts';
import type { Door } from './door.ts';
import { ErrorCode } from './errors.ts';
import { FrameAssembler } from './frame-assembler.ts';
import { Handshake } from './handshake.ts';
import { FrameWriter, JuteError, JuteReader } from './jute.ts';
import { type EventType, Permission } from './opcodes.ts';
import { changeCommand, multiCommand } from './procedures/changes.ts';
import { closeSessionCommand } from './procedures/sessions.ts';
import { writeWatchEvent } from './records.ts';
import { writeReply } from './replies.ts';
import { Pending, RequestQueue } from './request-queue.ts';
import type { Watcher } from './watches.ts';

/** A client's socket as the session sees it. */
export interface Wire {
  readonly address: string;
  readonly port: number;
  /** Writes all chunks as one; they must not change any more. */
  write(chunks: readonly Uint8Array[]): void;
  /** Closes once everything written is sent. */
  end(): void;
  destroy(): void;
  pause(): void;
  resume(): void;
  /** Bytes written that the operating system has not taken yet. */
  unsentBytes(): number;
}

/**
 * closing: closeSession is in the log, its reply still comes. finished: all is written, the client
 * is expected to close.
 */
type Phase = 'handshake' | 'opening' | 'open' | 'closing' | 'finished' | 'closed';

/** A client that does not close after our end is cut off after this long. */
const LINGER_MS = 5000;
/** Identities travel with each command of a connection. */
const IDENTITY_BYTES_MAX = 16 * 1024;
/** Replies refer to stored values, so this is no memory held; it ends what nobody will read. */
const UNSENT_BYTES_MAX = 64 * 1024 * 1024;

/**
 * One connection. Requests are answered strictly in order: writes go to the log at once, and what
 * stands behind an unanswered one waits and runs inside its call-back, before the next command
 * applies. Value, watch, zxid and queueing of a reply are one step.
 */
export class Session implements Watcher {
  readonly door: Door;
  readonly wire: Wire;
  /** Replies and events of this turn. */
  readonly frames = new FrameWriter();
  identities: readonly Identity[];
  /** Set by the handshake. */
  sessionId = 0n;
  lease: LeaseHandle = 0;
  timeoutMs = 0;
  /** Monotonic time of the last renewal that was sent, and whether one is under way. */
  renewedAtMs = 0;
  renewing = false;
  /** Has frames that are written at the end of this turn. */
  dirty = false;
  received = 0;
  sent = 0;
  readonly queue = new RequestQueue();

  #command: CommandSession = { lease: 0, epoch: 0 };
  #encodedIdentities: Uint8Array;
  #phase: Phase = 'handshake';
  readonly #handshake: Handshake;
  readonly #input: FrameAssembler;
  #paused = false;
  #pumpPosted = false;
  #linger: Timer | undefined;

  constructor(door: Door, wire: Wire) {
    this.door = door;
    this.wire = wire;
    this.identities = [{ scheme: 'ip', id: wire.address }];
    this.#encodedIdentities = encodeIdentities(this.identities);
    this.#input = new FrameAssembler(door.settings.frameBytesMax);
    this.#handshake = new Handshake(this);
  }

  get isOpen(): boolean {
    return this.#phase === 'open';
  }

  /** Nothing more is written. */
  get #isOver(): boolean {
    return this.#phase === 'finished' || this.#phase === 'closed';
  }

  get epoch(): number {
    return this.#command.epoch;
  }

  // ---- what the wire tells ------------------------------------------------------------------

  /** Bytes from the client; the session owns them. */
  receive(chunk: Buffer): void {
    if (this.#isOver || this.#phase === 'closing') return;
    this.#input.push(chunk);
    this.#pump();
  }

  /** Everything written has been sent. */
  drained(): void {
    this.#postPump();
  }

  /** Ends the connection at once; the session lives on until it expires. */
  close(): void {
    if (this.#phase === 'closed') return;
    this.#stop('closed');
    this.#linger?.cancel();
    this.wire.destroy();
  }

  /** Sends what is queued, then closes. Whatever else comes is dropped. */
  finish(): void {
    if (this.#isOver) return;
    this.flush();
    this.#stop('finished');
    this.wire.end();
    this.wire.resume();
    this.#linger = this.door.settings.clock.setTimer(LINGER_MS, () => this.close());
  }

  #stop(phase: 'finished' | 'closed'): void {
    this.#phase = phase;
    this.#handshake.cancel();
    this.door.forget(this);
    this.door.statistics.outstanding -= this.queue.clear();
    this.#input.clear();
  }

  /** Hands this turn's frames to the wire as one write. */
  flush(): void {
    if (this.#isOver || this.frames.length === 0) return;
    this.wire.write(this.frames.take());
    if (this.#paused) this.#postPump();
  }

  // ---- reading ------------------------------------------------------------------------------

  #pump(): void {
    const wasReceived = this.received;
    while (!this.#isBlocked()) {
      if (this.#phase === 'handshake' && this.#answerWord()) return;
      const frame = this.#input.next();
      if (frame === 'incomplete') break;
      if (frame === 'oversized') {
        this.close();
        return;
      }
      this.received++;
      this.door.statistics.received++;
      if (this.#phase === 'handshake') this.#beginHandshake(frame);
      else this.#accept(frame);
    }
    if (this.received !== wasReceived && this.isOpen) this.door.renewals.touch(this);
    this.#adjustReading();
  }

  #isBlocked(): boolean {
    if (this.#phase !== 'open' && this.#phase !== 'handshake') return true;
    return (
      this.queue.count >= LIMITS.connectionRequestsInFlightMax ||
      this.queue.bytes >= LIMITS.connectionBytesInFlightMax ||
      this.unsentBytes() >= LIMITS.connectionBytesUnsentMax
    );
  }

  unsentBytes(): number {
    return this.frames.length + this.wire.unsentBytes();
  }

  #adjustReading(): void {
    if (this.#isOver) return;
    const blocked = this.#isBlocked() && this.#phase !== 'closing';
    if (blocked === this.#paused) return;
    this.#paused = blocked;
    if (blocked) this.wire.pause();
    else this.wire.resume();
  }

  /** Reads on in a turn of its own, so that nothing is submitted from inside apply. */
  #postPump(): void {
    if (this.#pumpPosted || (!this.#paused && this.#input.length === 0)) return;
    this.#pumpPosted = true;
    this.door.settings.scheduler.post(() => {
      this.#pumpPosted = false;
      this.#pump();
    });
  }

  /** True when the connection opened with a four-letter word, which ends it. */
  #answerWord(): boolean {
    const word = this.#input.peek(4)?.toString('latin1');
    const text = word === undefined ? undefined : this.door.answerWord(word);
    if (text === undefined) return false;
    this.wire.write([Buffer.from(text)]);
    this.finish();
    return true;
  }

  // ---- handshake ----------------------------------------------------------------------------

  #beginHandshake(frame: Buffer): void {
    this.#phase = 'opening';
    this.#handshake.begin(frame);
  }

  /** The handshake succeeded: the session is attached to this connection. */
  opened({ handle, epoch, id, ttlMs }: Lease): void {
    this.#phase = 'open';
    this.lease = handle;
    this.sessionId = id;
    this.timeoutMs = ttlMs;
    this.#command = { lease: handle, epoch };
    this.renewedAtMs = this.door.settings.clock.monotonicMs();
    this.door.register(this);
    this.#postPump();
  }

  // ---- requests -----------------------------------------------------------------------------

  #accept(frame: Buffer): void {
    if (frame.length < 8) {
      this.close();
      return;
    }
    const reader = new JuteReader(frame);
    const xid = reader.int();
    const type = reader.int();
    let request: Request;
    try {
      request = readRequest(type, reader, this.identities);
    } catch (error) {
      if (!(error instanceof JuteError)) throw error;
      request = { kind: 'refused', error: ErrorCode.Marshalling };
    }
    this.#dispatch(xid, request, frame.length);
  }

  #dispatch(xid: number, request: Request, bytes: number): void {
    const { replica } = this.door.settings;
    switch (request.kind) {
      case 'change': {
        const { operation } = request;
        const command = changeCommand(this.#command, this.#encodedIdentities, operation);
        replica.submit(command, this.#enqueue(xid, request, bytes, true));
        return;
      }
      case 'multi': {
        const { operations } = request;
        const command = multiCommand(this.#command, this.#encodedIdentities, operations);
        replica.submit(command, this.#enqueue(xid, request, bytes, true));
        return;
      }
      case 'closeSession':
        replica.submit(
          closeSessionCommand(this.#command),
          this.#enqueue(xid, request, bytes, true),
        );
        this.#phase = 'closing';
        this.#input.clear();
        return;
      case 'sync':
        replica.barrier(this.#enqueue(xid, request, bytes, true));
        return;
      case 'auth':
        this.#authenticate(xid, request.scheme, request.credentials);
        return;
      default:
        if (this.queue.isEmpty) {
          this.#answer(new Pending(this, xid, request, bytes, undefined));
        } else this.#enqueue(xid, request, bytes, false);
    }
  }

  #enqueue(xid: number, request: Request, bytes: number, waiting: boolean): Pending {
    const arrivedMs = waiting ? this.door.settings.clock.monotonicMs() : undefined;
    this.door.statistics.outstanding++;
    return this.queue.push(new Pending(this, xid, request, bytes, arrivedMs));
  }

  /** The log, or a barrier, answered a request; called inside apply. */
  settle(pending: Pending, result: unknown): void {
    if (this.#isOver) return;
    pending.waiting = false;
    pending.result = result;
    pending.zxid = this.door.zxid;
    const { statistics, settings } = this.door;
    for (let one = this.queue.shiftReady(); one !== undefined; one = this.queue.shiftReady()) {
      statistics.outstanding--;
      const { arrivedMs } = one;
      if (arrivedMs !== undefined) {
        statistics.answered(settings.clock.monotonicMs() - arrivedMs);
      }
      this.#answer(one);
      if (this.#isOver) return;
    }
    this.#postPump();
  }

  #answer(pending: Pending): void {
    this.countSent();
    const then = writeReply(this, pending);
    this.door.markDirty(this);
    if (then === 'finish') this.finish();
    else if (then === 'close' || this.unsentBytes() > UNSENT_BYTES_MAX) this.close();
  }

  /** Outside of the request order: the reply may overtake those of earlier writes. */
  #authenticate(xid: number, scheme: ByteString, credentials: Uint8Array): void {
    const crowded = this.#encodedIdentities.length + credentials.length > IDENTITY_BYTES_MAX;
    const { superDigest } = this.door.settings;
    const added = crowded ? undefined : authenticate(scheme, credentials, superDigest);
    const error = added === undefined ? ErrorCode.AuthFailed : ErrorCode.Ok;
    this.countSent();
    this.frames.begin().int(xid).long(0).int(error).end();
    this.door.markDirty(this);
    if (added === undefined) {
      this.door.statistics.authFailures++;
      this.finish();
      return;
    }
    const isNew = ({ scheme: s, id }: Identity) =>
      !this.identities.some((known) => known.scheme === s && known.id === id);
    this.identities = [...this.identities, ...added.filter(isNew)];
    this.#encodedIdentities = encodeIdentities(this.identities);
  }

  // ---- events -------------------------------------------------------------------------------

  notify(type: EventType, path: ByteString, zxid: Revision, acl: Acl): void {
    if (this.#phase !== 'open' && this.#phase !== 'closing') return;
    if (!permits(acl, Permission.Read, () => this.identities)) return;
    this.countSent();
    writeWatchEvent(this.frames, type, path, zxid);
    this.door.markDirty(this);
    if (this.unsentBytes() > LIMITS.subscriberBytesUnsentMax) this.door.closeSoon(this);
  }

  /** What `crst` does. */
  resetCounts(): void {
    this.received = 0;
    this.sent = 0;
  }

  countSent(): void {
    this.sent++;
    this.door.statistics.sent++;
  }

  /** The session ended: by its own close, whose reply still comes, or it expired. */
  ended(): void {
    if (this.#phase !== 'closing') this.close();
  }
}
