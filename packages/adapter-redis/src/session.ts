import { type ByteString, LIMITS, type LockstepError } from '@lockstep/model';
import type { CommandOutcome } from '@lockstep/state-machine';
import { isProtocolError, type Request, RequestParser } from './codec.ts';
import { type CommandSpec, hasFlag } from './command.ts';
import { resolveCommand } from './command-table.ts';
import { ConnectionState } from './connection-state.ts';
import type { RedisDoorCore } from './door.ts';
import type { DoorSession, HeldCommand } from './door-session.ts';
import { CommandError, NO_AUTH, OVER_BUDGET, replyOf } from './errors.ts';
import { CommandExecution } from './execution.ts';
import { encodeRequest, encodeTransaction } from './procedures.ts';
import {
  type ErrorReply,
  error,
  isError,
  isQueued,
  NULL_ARRAY,
  type PushReply,
  QUEUED,
  type Reply,
} from './reply.ts';
import { ReplyWriter } from './reply-writer.ts';
import { LoggedSlot, ReadBatch, ReadSlot, Slot, type SlotOwner, SlotQueue } from './slot.ts';
import type { Wire } from './wire.ts';

/**
 * One connection: requests in, replies out in their order (design §7). Reads alone wait for a
 * barrier; behind a write everything rides the log; behind a command that may block, and before
 * a command that changes the connection itself, requests stay where they are, unnumbered.
 */
export class Session extends ConnectionState implements DoorSession, SlotOwner {
  readonly #parser = new RequestParser();
  readonly #output = new ReplyWriter();
  readonly #slots = new SlotQueue();
  readonly #core: RedisDoorCore;
  readonly #wire: Wire;
  /** Parsed, but its turn has not come. */
  #waiting: Request | undefined;
  #gathered: ReadBatch | undefined;
  #logged = 0;
  #reading = 0;
  #watching = 0;
  #bytesInFlight = 0;
  /** Nothing behind it starts before it is answered. */
  #blocking: Slot | undefined;
  #deferred: PushReply[] = [];
  #processing = false;
  #paused = false;
  #ending = false;
  #flushPosted = false;

  constructor(core: RedisDoorCore, wire: Wire, id: number) {
    super(core.door, wire, id);
    this.#core = core;
    this.#wire = wire;
    this.#parser.limited = !this.authenticated;
  }

  get pending(): number {
    return this.#slots.length;
  }

  get blocked(): boolean {
    return this.#blocking !== undefined;
  }

  // ---- bytes in ---------------------------------------------------------------------------

  /** Takes over the chunk. */
  receive(chunk: Buffer): void {
    if (this.closed || this.#ending) return;
    this.activeMs = this.door.clock.monotonicMs();
    this.#parser.append(chunk);
    this.#process();
  }

  /** The socket's buffer is empty again. */
  drained(): void {
    this.#process();
  }

  #process(): void {
    if (this.#processing || this.closed) return;
    this.#processing = true;
    try {
      while (this.#mayStart() && this.#next()) continue;
    } finally {
      this.#processing = false;
    }
    this.#sendReads();
    this.#throttle();
  }

  /** False while enough is in flight, or nothing may overtake what is. */
  #mayStart(): boolean {
    return (
      !this.closed &&
      !this.#ending &&
      this.#blocking === undefined &&
      this.#slots.length < LIMITS.connectionRequestsInFlightMax &&
      this.#bytesInFlight < LIMITS.connectionBytesInFlightMax &&
      this.#wire.unsentBytes() + this.#output.length < LIMITS.connectionBytesUnsentMax
    );
  }

  /** Starts one request; false when there is none, or its turn has not come. */
  #next(): boolean {
    let request = this.#waiting;
    if (request === undefined) {
      const parsed = this.#parser.next();
      if (parsed === undefined) return false;
      if (isProtocolError(parsed)) {
        // Requests before the error still get their replies first.
        this.#answer(PROTOCOL_ERROR, error(parsed.text), 0);
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
    if (full === this.#paused) return;
    this.#paused = full;
    if (full) this.#wire.pause();
    else this.#wire.resume();
  }

  // ---- one request ------------------------------------------------------------------------

  #start(request: Request): boolean {
    const size = request.sizeBytes;
    const resolved = this.#resolve(request);
    if (resolved === 'close') {
      this.destroy();
      return false;
    }
    if (isErrorReply(resolved)) return this.#refuse(resolved, size);
    const refusal = this.#refusal(resolved);
    if (refusal !== undefined) return this.#refuse(refusal, size);
    if (resolved.name === 'exec') return this.#exec(size);
    if (this.transaction !== undefined && !RUNS_IN_MULTI.has(resolved.name)) {
      return this.#hold(resolved, request, size);
    }
    if (resolved.door !== undefined) return this.#runAtDoor(resolved, request, size);
    this.lastCommand = resolved.name;
    if (hasFlag(resolved, 'readonly')) return this.#read(resolved, request, size);
    return this.#write(resolved, request, size);
  }

  #resolve(request: Request): CommandSpec | ErrorReply | 'close' {
    const name = request.argument(0);
    // A browser tricked into talking to us sends these first (`reference/redis.md` §1.1).
    if (name.length < 6 && /^(post|host:)$/i.test(name)) return 'close';
    // Arguments matter for errors and subcommands only.
    const spec = this.#core.simple.get(name);
    if (spec !== undefined && fits(spec, request.count)) return spec;
    const argv = request.argv();
    const resolved = resolveCommand(argv);
    if (isErrorReply(resolved)) {
      if (resolved.text.includes("'exec' command")) return this.#abortExec(resolved);
      return resolved;
    }
    if (resolved.wraps === undefined) return resolved;
    const inner = argv.slice(resolved.wraps(argv));
    const wrapped = inner.length > 0 ? resolveCommand(inner) : undefined;
    return wrapped !== undefined && isErrorReply(wrapped) ? wrapped : resolved;
  }

  #abortExec({ text }: ErrorReply): ErrorReply {
    this.transaction = undefined;
    this.door.watches.clear(this);
    return error(`EXECABORT Transaction discarded because of: ${text.replace(/^ERR /, '')}`);
  }

  #refusal(spec: CommandSpec): ErrorReply | undefined {
    if (!this.authenticated && !hasFlag(spec, 'no_auth')) return error(NO_AUTH);
    if (this.protocol === 2 && this.subscribed && !RUNS_SUBSCRIBED.has(spec.name)) {
      return error(
        `ERR Can't execute '${spec.name}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT ` +
          '/ RESET are allowed in this context',
      );
    }
    if (this.transaction === undefined) return undefined;
    if (spec.name === 'watch') return error('ERR WATCH inside MULTI is not allowed');
    if (!hasFlag(spec, 'no_multi')) return undefined;
    return error('ERR Command not allowed inside a transaction');
  }

  #refuse(reply: ErrorReply, size: number): boolean {
    const stays = reply.text === 'ERR WATCH inside MULTI is not allowed';
    if (this.transaction !== undefined && !stays) this.transaction.failed = true;
    this.#answer(REFUSED, reply, size);
    return true;
  }

  #hold(spec: CommandSpec, request: Request, size: number): boolean {
    this.transaction?.held.push({ spec, argv: request.argv() });
    this.#answer(spec, QUEUED, size);
    return true;
  }

  #runAtDoor(spec: CommandSpec, request: Request, size: number): boolean {
    if (spec.exclusive === true && this.#slots.length > 0) return false;
    this.lastCommand = spec.name;
    this.#answer(spec, this.#doorReply(spec, request.argv()), size);
    this.#parser.limited = !this.authenticated;
    return true;
  }

  #doorReply(spec: CommandSpec, argv: readonly ByteString[]): Reply {
    try {
      return spec.door!(this, argv);
    } catch (failure) {
      if (failure instanceof CommandError) return failure.reply;
      throw failure;
    }
  }

  #read(spec: CommandSpec, request: Request, size: number): boolean {
    if (this.#logged > 0) {
      this.#submit(spec, request, size, true);
      return true;
    }
    this.#gathered ??= new ReadBatch(this);
    const slot = new ReadSlot(this.#base(spec, size), request.argv(), this.db);
    this.#gathered.slots.push(slot);
    this.#reading++;
    this.#watching += spec.name === 'watch' ? 1 : 0;
    this.#push(slot);
    return true;
  }

  #write(spec: CommandSpec, request: Request, size: number): boolean {
    if (this.#reading > 0) return false;
    const slot = this.#submit(spec, request, size, false);
    if (spec.blocks?.(slot.argv ?? []) === true) this.#blocking = slot;
    return true;
  }

  #submit(spec: CommandSpec, request: Request, size: number, readOnly: boolean): LoggedSlot {
    const again =
      spec.completed !== undefined || spec.blocks !== undefined || spec.served !== undefined;
    const argv = again ? request.argv() : undefined;
    const slot = new LoggedSlot(this, this.#base(spec, size), this.db, argv);
    const client = spec.identified === true ? this.identity : undefined;
    const command = encodeRequest(this.#core.encoder, readOnly, this.db, client, request);
    this.#watching += spec.name === 'watch' ? 1 : 0;
    this.#enter(slot, command);
    return slot;
  }

  #enter(slot: LoggedSlot, command: Uint8Array): void {
    this.#logged++;
    this.#push(slot);
    slot.sequence = this.door.replica.submit(command, slot);
  }

  #exec(size: number): boolean {
    // EXEC carries what WATCH saw, and a write waits for the reads before it.
    if (this.#reading > 0 || this.#watching > 0) return false;
    const { transaction, watched, dirty } = this;
    const spec = EXEC;
    if (transaction === undefined) {
      this.#answer(spec, error('ERR EXEC without MULTI'), size);
      return true;
    }
    const { held } = transaction;
    const hasData = held.some((one) => one.spec.door === undefined);
    if (!hasData && watched.length === 0 && this.#slots.length > 0) return false;
    this.lastCommand = 'exec';
    this.transaction = undefined;
    this.door.watches.clear(this);
    if (transaction.failed) this.#answer(spec, error(EXEC_ABORT), size);
    else if (dirty) this.#answer(spec, NULL_ARRAY, size);
    else if (!hasData && watched.length === 0) this.#answer(spec, this.#merge(held, [], []), size);
    else this.#submitTransaction(held, watched, size);
    return true;
  }

  #submitTransaction(
    held: readonly HeldCommand[],
    watched: Session['watched'],
    size: number,
  ): void {
    const databases = databasesOf(held, this.db);
    const commands = held.flatMap(({ spec, argv }, i) =>
      spec.door === undefined ? [{ db: databases[i]!, argv }] : [],
    );
    const client = held.some(({ spec }) => spec.identified === true) ? this.identity : undefined;
    const slot = new LoggedSlot(this, this.#base(EXEC, size), this.db, undefined, held);
    // What EXEC does to the connection itself must be done before anything behind it starts.
    if (commands.length < held.length) this.#blocking = slot;
    this.#enter(slot, encodeTransaction(this.#core.encoder, { client, watched, commands }));
  }

  /** Replies of the log's commands and of the door's own, in the order of MULTI. */
  #merge(
    held: readonly HeldCommand[],
    results: readonly Reply[],
    databases: readonly number[],
  ): Reply {
    let at = 0;
    return held.map(({ spec, argv }, i) => {
      if (spec.door !== undefined) return this.#doorReply(spec, argv);
      const reply = results[at++]!;
      if (spec.completed === undefined || isError(reply)) return reply;
      return spec.completed(this, argv, reply, databases[i]!);
    });
  }

  // ---- answers ----------------------------------------------------------------------------

  #base(spec: CommandSpec, sizeBytes: number) {
    const exempt = spec.name === 'client|reply';
    const silent = !exempt && this.replyMode !== 'on';
    if (!exempt && this.replyMode === 'skip-next') this.replyMode = 'on';
    return { spec, sizeBytes, silent };
  }

  #push(slot: Slot): void {
    this.door.statistics.commands++;
    this.#bytesInFlight += slot.sizeBytes;
    this.#slots.push(slot);
  }

  /** A request whose reply is known at once. */
  #answer(spec: CommandSpec, reply: Reply, size: number): void {
    const base = this.#base(spec, size);
    const slot = new Slot(base.spec, base.sizeBytes, base.silent);
    this.#push(slot);
    this.#complete(slot, reply);
  }

  #complete(slot: Slot, reply: Reply): void {
    slot.reply = reply;
    if (this.#blocking === slot) this.#blocking = undefined;
    for (let head = this.#slots.head; head?.reply !== undefined; head = this.#slots.head) {
      this.#slots.shift();
      this.#bytesInFlight -= head.sizeBytes;
      if (isError(head.reply)) this.door.statistics.errors++;
      if (!head.silent) this.#output.write(head.reply, this.protocol);
    }
    for (const push of this.#deferred.splice(0)) this.#output.write(push, this.protocol);
    this.#postFlush();
  }

  applied(slot: LoggedSlot, outcome: CommandOutcome): void {
    this.#logged--;
    if (slot.spec.name === 'watch') this.#watching--;
    if (slot.spec.identified === true || slot.held !== undefined) this.adoptLease();
    if (outcome.kind === 'void') {
      if (outcome.reason !== 'budget') this.destroy();
      else this.#settle(slot, error(OVER_BUDGET));
      return;
    }
    const reply = outcome.result as Reply;
    if (isQueued(reply)) this.#core.waits.add(slot, this);
    else this.#settle(slot, this.#completed(slot, reply));
  }

  #completed(slot: LoggedSlot, reply: Reply): Reply {
    if (this.closed || isError(reply)) return reply;
    if (slot.held !== undefined && Array.isArray(reply)) {
      return this.#merge(slot.held, reply, databasesOf(slot.held, slot.db));
    }
    if (slot.spec.completed === undefined) return reply;
    return slot.spec.completed(this, slot.argv ?? [], reply, slot.db);
  }

  /** A blocked command got its reply. */
  unblock(slot: LoggedSlot, reply: Reply): void {
    this.#settle(slot, reply);
  }

  #settle(slot: Slot, reply: Reply): void {
    if (this.closed) return;
    this.#complete(slot, reply);
    this.#process();
  }

  read(batch: ReadBatch, times: { readonly clusterMs: number; readonly wallMs: number }): void {
    this.#reading -= batch.slots.length;
    if (this.closed) return;
    const { state } = this.door.replica;
    for (const slot of batch.slots) {
      const execution = new CommandExecution({
        reader: state,
        time: times.clusterMs,
        wall: times.wallMs,
        db: slot.db,
        client: this.identity,
        seed: this.#core.nextSeed(),
      });
      const { spec, argv } = slot;
      const reply = execution.perform(spec, argv);
      if (spec.name === 'watch') this.#watching--;
      const known = spec.completed === undefined || isError(reply);
      this.#complete(slot, known ? reply : spec.completed(this, argv, reply, slot.db));
    }
    this.#process();
  }

  failed(slots: readonly Slot[], failure: LockstepError): void {
    for (const slot of slots) {
      if (slot instanceof LoggedSlot) this.#logged--;
      else this.#reading--;
      if (slot.spec.name === 'watch') this.#watching--;
    }
    const reply = replyOf(failure);
    if (reply === undefined) this.destroy();
    else for (const slot of slots) if (!this.closed) this.#complete(slot, reply);
    this.#process();
  }

  #sendReads(): void {
    const batch = this.#gathered;
    if (batch === undefined) return;
    this.#gathered = undefined;
    this.door.replica.barrier(batch);
  }

  // ---- bytes out --------------------------------------------------------------------------

  deliver(message: PushReply): void {
    if (this.closed) return;
    const { head } = this.#slots;
    // Newer servers, and we, send what a command published to its own sender after its reply.
    if (head instanceof LoggedSlot && this.#core.isApplying(head.sequence)) {
      this.#deferred.push(message);
      return;
    }
    this.#output.write(message, this.protocol);
    this.#postFlush();
  }

  #postFlush(): void {
    if (this.#flushPosted) return;
    this.#flushPosted = true;
    this.#core.scheduler.post(() => {
      this.#flushPosted = false;
      this.#flush();
    });
  }

  /** One write per turn, whatever was answered in it. */
  #flush(): void {
    if (this.closed) return;
    if (this.#output.length > 0) this.#wire.write(this.#output.take());
    if (this.#ending && this.#slots.length === 0) {
      this.#wire.end();
      return;
    }
    const unsent = this.#wire.unsentBytes();
    if (this.subscribed && unsent > LIMITS.subscriberBytesUnsentMax) this.destroy();
  }

  end(): void {
    this.#ending = true;
    this.#postFlush();
  }

  destroy(): void {
    if (this.closed) return;
    // What was answered before goes out first, as far as the socket takes it.
    if (this.#output.length > 0) this.#wire.write(this.#output.take());
    this.#wire.destroy();
    this.close();
  }

  /** The socket is gone: whatever this connection held in the cluster goes too. */
  close(): void {
    if (this.closed) return;
    this.markClosed();
    this.#core.forget(this, this.#blocking);
  }
}

const PROTOCOL_ERROR = door('protocol error');
const REFUSED = door('refused');
const EXEC = door('exec');
const EXEC_ABORT = 'EXECABORT Transaction discarded because of previous errors.';

/** Stands for a request that never becomes a command of the table. */
function door(name: string): CommandSpec {
  return { name, arity: 1, flags: [], keys: [0, 0, 0], summary: '' };
}

const RUNS_IN_MULTI: ReadonlySet<string> = new Set([
  'multi',
  'discard',
  'watch',
  'quit',
  'reset',
]);
const RUNS_SUBSCRIBED: ReadonlySet<string> = new Set([
  'ping',
  'quit',
  'reset',
  'subscribe',
  'psubscribe',
  'ssubscribe',
  'unsubscribe',
  'punsubscribe',
  'sunsubscribe',
]);

function isErrorReply(resolved: CommandSpec | ErrorReply): resolved is ErrorReply {
  return 'kind' in resolved;
}

function fits(spec: CommandSpec, count: number): boolean {
  return spec.arity < 0 ? count >= -spec.arity : count === spec.arity;
}

/** Database of each held command: a SELECT among them counts for those behind it. */
function databasesOf(held: readonly HeldCommand[], first: number): number[] {
  let db = first;
  return held.map(({ spec, argv }) => {
    const chosen = spec.name === 'select' && /^\d{1,2}$/.test(argv[1]!) ? Number(argv[1]) : db;
    db = chosen < 16 ? chosen : db;
    return db;
  });
}
