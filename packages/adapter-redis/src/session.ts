import { LIMITS, type LockstepError } from '@lockstep/model';
import type { CommandOutcome } from '@lockstep/state-machine';
import { admit, isErrorReply, RUNS_IN_MULTI, refuse } from './admission.ts';
import { isProtocolError, type Request, RequestParser } from './codec.ts';
import { type CommandSpec, hasFlag } from './command.ts';
import { ConnectionState } from './connection-state.ts';
import type { RedisDoorCore } from './door.ts';
import type { DoorSession, HeldCommand, OpenTransaction } from './door-session.ts';
import { OVER_BUDGET, replyOf, tooLarge } from './errors.ts';
import { CommandExecution, performRead } from './execution.ts';
import { loggedCommands, mergeReplies, runAtDoor } from './held-commands.ts';
import { encodeRequest, encodeTransaction } from './procedures.ts';
import { ReadQueue, type ReadQueueOwner, type ReadTimes } from './read-queue.ts';
import {
  error,
  isError,
  isQueued,
  NULL_ARRAY,
  type PushReply,
  QUEUED,
  type Reply,
} from './reply.ts';
import { ReplyQueue } from './reply-queue.ts';
import { LoggedSlot, ReadBatch, ReadSlot, Slot, type SlotOwner } from './slot.ts';
import type { WatchedKey } from './watched-key.ts';
import type { Wire } from './wire.ts';

/**
 * One connection: requests in, replies out in their order (design §7). Reads alone wait for a
 * barrier; behind a write everything rides the log; behind a command that may block, and before
 * a command that changes the connection itself, requests stay where they are, unnumbered.
 */
export class Session extends ConnectionState implements DoorSession, SlotOwner, ReadQueueOwner {
  readonly #parser = new RequestParser();
  readonly #replies: ReplyQueue;
  readonly #core: RedisDoorCore;
  readonly #reads: ReadQueue;
  readonly #wire: Wire;
  /** Parsed, but its turn has not come. */
  #waiting: Request | undefined;
  #gathered: ReadBatch | undefined;
  #logged = 0;
  #reading = 0;
  #watching = 0;
  /** Nothing behind it starts before it is answered. */
  #blocking: Slot | undefined;
  #processing = false;
  #paused = false;

  constructor(core: RedisDoorCore, wire: Wire, id: number) {
    super(core.door, wire, id);
    this.#core = core;
    this.#wire = wire;
    this.#reads = new ReadQueue(this, core.scheduler);
    this.#replies = new ReplyQueue(this, wire, core.scheduler, core.door.statistics);
    this.#parser.limited = !this.authenticated;
  }

  get pending(): number {
    return this.#replies.length;
  }

  get blocked(): boolean {
    return this.#blocking !== undefined;
  }

  /** Takes over the chunk. */
  receive(chunk: Buffer): void {
    if (this.closed || this.#replies.ending) return;
    this.activeMs = this.door.clock.monotonicMs();
    this.#parser.append(chunk);
    this.#process();
  }

  /** The socket's buffer is empty again. */
  drained(): void {
    if (!this.closed) this.#replies.pump();
    this.#process();
  }

  #process(): void {
    if (this.#processing || this.closed) return;
    this.#processing = true;
    try {
      while (this.#mayStart() && this.#next());
    } finally {
      this.#processing = false;
    }
    this.#sendReads();
    this.#throttle();
  }

  /** False while enough is in flight, or nothing may overtake what is. */
  #mayStart(): boolean {
    if (this.closed || this.#replies.ending || this.#blocking !== undefined) return false;
    return this.#replies.hasRoom;
  }

  /** Starts one request; false when there is none, or its turn has not come. */
  #next(): boolean {
    let request = this.#waiting;
    if (request === undefined) {
      const parsed = this.#parser.next();
      if (parsed === undefined) return false;
      if (isProtocolError(parsed)) {
        // Requests before the error still get their replies first.
        this.#answer(NO_COMMAND, error(parsed.text), 0);
        this.end();
        return false;
      }
      request = parsed;
    }
    const started = this.#start(request);
    this.#waiting = started ? undefined : request;
    return started;
  }

  /** Stops reading the socket while there is more than we may hold. */
  #throttle(): void {
    const full = !this.#mayStart() && this.#parser.buffered > LIMITS.connectionBytesInFlightMax;
    if (full === this.#paused || this.closed) return;
    this.#paused = full;
    if (full) this.#wire.pause();
    else this.#wire.resume();
  }

  #start(request: Request): boolean {
    const size = request.sizeBytes;
    const spec = admit(this, request, this.#core.simple);
    if (spec === 'close') {
      this.destroy();
      return false;
    }
    if (isErrorReply(spec)) {
      this.#answer(NO_COMMAND, refuse(this, spec), size);
      return true;
    }
    if (size > LIMITS.commandBytesMaxRedis) {
      this.#answer(NO_COMMAND, refuse(this, tooLarge(size)), size);
      return true;
    }
    if (spec.name === 'exec') return this.#exec(spec, size);
    if (this.transaction !== undefined && !RUNS_IN_MULTI.has(spec.name)) {
      this.#answer(spec, this.#hold(this.transaction, spec, request, size), size);
      return true;
    }
    if (spec.door !== undefined) return this.#atDoor(spec, request, size);
    return hasFlag(spec, 'readonly')
      ? this.#read(spec, request, size)
      : this.#write(spec, request, size);
  }

  /** What MULTI holds becomes one entry, so that the limit of one command is that of all. */
  #hold(open: OpenTransaction, spec: CommandSpec, request: Request, size: number): Reply {
    open.sizeBytes += size + HELD_OVERHEAD_BYTES;
    if (open.sizeBytes > LIMITS.commandBytesMaxRedis) {
      open.held.length = 0;
      return refuse(this, tooLarge(open.sizeBytes));
    }
    open.held.push({ spec, argv: request.argv() });
    return QUEUED;
  }

  #atDoor(spec: CommandSpec, request: Request, size: number): boolean {
    if (spec.exclusive === true && this.#replies.length > 0) return false;
    this.lastCommand = spec.name;
    this.#answer(spec, runAtDoor(this, spec, request.argv()), size);
    this.#parser.limited = !this.authenticated;
    return true;
  }

  #read(spec: CommandSpec, request: Request, size: number): boolean {
    this.#watching += spec.name === 'watch' ? 1 : 0;
    if (this.#logged > 0) {
      this.#submit(spec, request, size, true);
      return true;
    }
    this.lastCommand = spec.name;
    this.#gathered ??= new ReadBatch(this);
    const slot = new ReadSlot(this.#base(spec, size), request.argv(), this.db);
    this.#gathered.slots.push(slot);
    this.#reading++;
    this.#replies.push(slot);
    return true;
  }

  #write(spec: CommandSpec, request: Request, size: number): boolean {
    if (this.#reading > 0) return false;
    const slot = this.#submit(spec, request, size, false);
    if (spec.blocks?.(slot.argv ?? []) === true) this.#blocking = slot;
    return true;
  }

  #submit(spec: CommandSpec, request: Request, size: number, readOnly: boolean): LoggedSlot {
    this.lastCommand = spec.name;
    const base = this.#base(spec, size);
    const again = spec.completed !== undefined || spec.served !== undefined || base.tracked;
    const argv = again ? request.argv() : undefined;
    const slot = new LoggedSlot(this, base, this.db, argv);
    const client = spec.identified === true ? this.identity : undefined;
    const command = encodeRequest(this.#core.encoder, readOnly, this.db, client, request);
    this.#enter(slot, command);
    return slot;
  }

  #enter(slot: LoggedSlot, command: Uint8Array): void {
    this.#logged++;
    this.#replies.push(slot);
    slot.sequence = this.door.replica.submit(command, slot);
  }

  #exec(spec: CommandSpec, size: number): boolean {
    // EXEC carries what WATCH saw, and a write waits for the reads before it.
    if (this.#reading > 0 || this.#watching > 0) return false;
    const { transaction, watched, dirty } = this;
    const held = transaction?.held ?? [];
    const hasData = watched.length > 0 || held.some((one) => one.spec.door === undefined);
    // Without data it is the connection's own affair; with WATCH, what stands before it may yet
    // touch a watched key and leave it looking as before.
    if ((!hasData || watched.length > 0) && this.#replies.length > 0) return false;
    this.lastCommand = spec.name;
    if (transaction === undefined) {
      this.#answer(spec, error('ERR EXEC without MULTI'), size);
      return true;
    }
    this.transaction = undefined;
    this.door.watches.clear(this);
    if (transaction.failed) this.#answer(spec, error(EXEC_ABORT), size);
    else if (dirty) this.#answer(spec, NULL_ARRAY, size);
    else if (hasData) this.#submitTransaction(spec, held, watched, transaction.sizeBytes);
    else this.#answer(spec, mergeReplies(this, held, [], this.db), size);
    return true;
  }

  #submitTransaction(
    spec: CommandSpec,
    held: readonly HeldCommand[],
    watched: readonly WatchedKey[],
    size: number,
  ): void {
    const commands = loggedCommands(held, this.db);
    const client = held.some((one) => one.spec.identified === true) ? this.identity : undefined;
    const slot = new LoggedSlot(this, this.#base(spec, size), this.db, undefined, held);
    // What EXEC does to the connection itself must be done before anything behind it starts.
    if (commands.length < held.length) this.#blocking = slot;
    this.#enter(slot, encodeTransaction(this.#core.encoder, { client, watched, commands }));
  }

  #base(spec: CommandSpec, sizeBytes: number) {
    const exempt = spec.name === 'client|reply';
    const silent = !exempt && this.replyMode !== 'on';
    if (!exempt && this.replyMode === 'skip-next') this.replyMode = 'on';
    // A CLIENT command in between, and what MULTI holds, leave CLIENT CACHING as it is.
    const tracked = spec.door === undefined || spec.name === 'exec' ? this.takeCaching() : false;
    return { spec, sizeBytes, silent, tracked };
  }

  /** A request whose reply is known at once. */
  #answer(spec: CommandSpec, reply: Reply, size: number): void {
    const slot = new Slot(this.#base(spec, size));
    this.#replies.push(slot);
    this.#replies.complete(slot, reply);
  }

  // ---- where slots report to --------------------------------------------------------------

  applied(slot: LoggedSlot, outcome: CommandOutcome): void {
    this.#logged--;
    if (slot.spec.name === 'watch') this.#watching--;
    if (slot.spec.identified === true || slot.held !== undefined) this.adoptLease();
    if (slot.tracked) this.#rememberLogged(slot);
    if (outcome.kind === 'void') {
      if (outcome.reason === 'budget') this.#settle(slot, error(OVER_BUDGET));
      else this.destroy();
      return;
    }
    const reply = outcome.result as Reply;
    if (isQueued(reply)) this.#core.waits.add(slot, this);
    else this.#settle(slot, this.closed ? reply : this.#completed(slot, reply));
  }

  #rememberLogged({ spec, argv, held }: LoggedSlot): void {
    if (argv !== undefined) this.remember(spec, argv);
    for (const one of held ?? []) this.remember(one.spec, one.argv);
  }

  #completed(slot: LoggedSlot, reply: Reply): Reply {
    if (isError(reply)) return reply;
    if (slot.held !== undefined && Array.isArray(reply)) {
      return mergeReplies(this, slot.held, reply, slot.db);
    }
    if (slot.spec.completed === undefined) return reply;
    return slot.spec.completed(this, slot.argv ?? [], reply, slot.db);
  }

  leaveQueue(withError: boolean): boolean {
    return this.#core.waits.leave(this.#blocking, withError);
  }

  /** A blocked command got its reply. */
  unblock(slot: LoggedSlot, reply: Reply): void {
    this.#settle(slot, reply);
  }

  #settle(slot: Slot, reply: Reply): void {
    if (this.closed) return;
    if (this.#blocking === slot) this.#blocking = undefined;
    this.#replies.complete(slot, reply);
    this.#process();
  }

  read(batch: ReadBatch, times: ReadTimes): void {
    this.#reads.push(batch, times);
  }

  readsAnswered(): void {
    this.#process();
  }

  answerRead(slot: ReadSlot, times: ReadTimes): void {
    const { spec, argv, db } = slot;
    this.#reading--;
    const execution = new CommandExecution({
      reader: this.door.replica.state,
      time: times.clusterMs,
      wall: times.wallMs,
      db,
      client: this.identity,
      seed: this.#core.nextSeed(),
    });
    const reply = performRead(execution, spec, argv);
    if (slot.tracked) this.remember(spec, argv);
    if (spec.name === 'watch') this.#watching--;
    const isKnown = spec.completed === undefined || isError(reply);
    this.#replies.complete(slot, isKnown ? reply : spec.completed(this, argv, reply, db));
  }

  failed(slots: readonly Slot[], failure: LockstepError): void {
    const reply = replyOf(failure);
    for (const slot of slots) {
      if (slot instanceof LoggedSlot) this.#logged--;
      else this.#reading--;
      if (slot.spec.name === 'watch') this.#watching--;
      if (this.#blocking === slot && reply !== undefined) this.#blocking = undefined;
      if (reply !== undefined && !this.closed) this.#replies.complete(slot, reply);
    }
    if (reply === undefined) this.destroy();
    this.#process();
  }

  #sendReads(): void {
    const batch = this.#gathered;
    if (batch === undefined) return;
    this.#gathered = undefined;
    this.door.replica.barrier(batch);
  }

  // ---- out of band, and the end -----------------------------------------------------------

  get isAuthor(): boolean {
    const { head } = this.#replies;
    return head instanceof LoggedSlot && this.#core.isApplying(head.sequence);
  }

  deliver(message: PushReply): void {
    if (this.closed) return;
    // Newer servers, and we, send what a command published to its own sender after its reply.
    this.#replies.message(message, this.isAuthor);
  }

  end(): void {
    this.#replies.end();
  }

  destroy(): void {
    if (this.closed) return;
    this.#replies.destroy();
    this.close();
  }

  /** The socket is gone: whatever this connection held in the cluster goes too. */
  close(): void {
    if (this.closed) return;
    this.markClosed();
    this.#core.forget(this, this.#blocking);
  }
}

/** Stands for a request that never becomes a command of the table. */
const NO_COMMAND: CommandSpec = {
  name: '',
  arity: 1,
  flags: [],
  keys: [0, 0, 0],
  summary: '',
};
/** Counts against the limit beside the words of a held command. */
const HELD_OVERHEAD_BYTES = 16;
const EXEC_ABORT = 'EXECABORT Transaction discarded because of previous errors.';
