import {
  type ByteString,
  type CommandSession,
  type LeaseHandle,
  LIMITS,
  type Revision,
  type Timer,
} from '@lockstep/model';
import type { Lease } from '@lockstep/state-machine';
import { type Acl, type Identity, permits } from './acl.ts';
import { type Request, readRequest } from './codec.ts';
import { commandOf } from './commands.ts';
import { ConnectionIdentities } from './connection-identities.ts';
import type { Door } from './door.ts';
import { ErrorCode } from './errors.ts';
import { FrameAssembler } from './frame-assembler.ts';
import { Handshake } from './handshake.ts';
import { FrameWriter, JuteError, JuteReader } from './jute.ts';
import { type EventType, Permission } from './opcodes.ts';
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
  /** Set by the handshake. */
  sessionId = 0n;
  lease: LeaseHandle = 0;
  timeoutMs = 0;
  /** Monotonic times at which the last renewal, and the last one that was confirmed, was sent. */
  renewedAtMs = 0;
  confirmedAtMs = 0;
  renewing = false;
  /** Has frames that are written at the end of this turn. */
  dirty = false;
  received = 0;
  sent = 0;
  readonly queue = new RequestQueue();

  #command: CommandSession = { lease: 0, epoch: 0 };
  readonly #identities: ConnectionIdentities;
  #phase: Phase = 'handshake';
  readonly #handshake: Handshake;
  readonly #input: FrameAssembler;
  /** Nothing behind it is handed on. */
  #syncing = false;
  #paused = false;
  #pumpPosted = false;
  #linger: Timer | undefined;

  constructor(door: Door, wire: Wire) {
    this.door = door;
    this.wire = wire;
    this.#identities = new ConnectionIdentities(wire.address);
    this.#input = new FrameAssembler(door.settings.frameBytesMax);
    this.#handshake = new Handshake(this);
  }

  get identities(): readonly Identity[] {
    return this.#identities.list;
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

  /** Reads nothing more; closes once what was asked is answered. */
  drain(): void {
    if (this.#phase === 'handshake') this.close();
    if (!this.isOpen) return;
    this.#phase = 'closing';
    if (this.queue.isEmpty) this.finish();
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
    const before = this.received;
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
    if (this.received !== before && this.isOpen) this.door.renewals.touch(this);
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
  opened({ handle, epoch, id, ttlMs }: Lease, submittedMs: number): void {
    this.#phase = 'open';
    this.lease = handle;
    this.sessionId = id;
    this.timeoutMs = ttlMs;
    this.#command = { lease: handle, epoch };
    this.confirmedAtMs = this.renewedAtMs = submittedMs;
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
    switch (request.kind) {
      case 'change':
      case 'multi':
      case 'closeSession': {
        const pending = this.#enqueue(xid, request, bytes, true);
        // Data in it is a view on the frame, so it is encoded at once.
        pending.command = commandOf(request, this.#command, this.#identities.encoded);
        this.#hand(pending);
        if (request.kind !== 'closeSession') return;
        this.#phase = 'closing';
        this.#input.clear();
        return;
      }
      case 'sync':
        this.#hand(this.#enqueue(xid, request, bytes, true));
        return;
      case 'auth':
        this.#authenticate(xid, request.scheme, request.credentials);
        return;
      default:
        if (!this.queue.isEmpty) this.#enqueue(xid, request, bytes, false);
        else this.#answer(new Pending(this, xid, request, bytes, undefined));
    }
  }

  /** To the log or the barrier; kept back while a sync before it is unfinished. */
  #hand(pending: Pending): void {
    if (this.#syncing) {
      pending.held = true;
      return;
    }
    const { replica } = this.door.settings;
    const { command } = pending;
    pending.held = false;
    pending.command = undefined;
    if (command !== undefined) replica.submit(command, pending);
    else {
      this.#syncing = true;
      replica.barrier(pending);
    }
  }

  /** The sync is answered: on to the next one with all that was kept back before it. */
  #handHeld(): void {
    if (this.#isOver) return;
    this.#syncing = false;
    for (;;) {
      const pending = this.#syncing ? undefined : this.queue.firstHeld();
      if (pending === undefined) return;
      this.#hand(pending);
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
      if (one.arrivedMs !== undefined) {
        statistics.answered(settings.clock.monotonicMs() - one.arrivedMs);
      }
      this.#answer(one);
      if (this.#isOver) return;
      if (one.request.kind === 'sync') settings.scheduler.post(() => this.#handHeld());
    }
    if (this.#phase === 'closing' && this.queue.isEmpty) this.finish();
    this.#postPump();
  }

  #answer(pending: Pending): void {
    this.countSent();
    const then = writeReply(this, pending);
    this.door.markDirty(this);
    if (then === 'finish') this.finish();
    else if (then === 'close' || this.#isExcessive()) this.close();
  }

  #isExcessive(): boolean {
    const watchBytes = this.door.watches.bytesOf(this);
    return this.unsentBytes() > UNSENT_BYTES_MAX || watchBytes > this.door.settings.watchBytesMax;
  }

  /** Outside of the request order: the reply may overtake those of earlier writes. */
  #authenticate(xid: number, scheme: ByteString, credentials: Uint8Array): void {
    const added = this.#identities.add(scheme, credentials, this.door.settings.superDigest);
    const error = added ? ErrorCode.Ok : ErrorCode.AuthFailed;
    this.countSent();
    this.frames.begin().int(xid).long(0).int(error).end();
    this.door.markDirty(this);
    if (added) return;
    this.door.statistics.authFailures++;
    this.finish();
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
