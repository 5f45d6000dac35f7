import type { ImageStore, Index, LinkInfo, MemberId } from '@lockstep/model';
import { mark } from '@lockstep/model';
import { encodeFrame, type SnapshotBegin, type SnapshotMessage } from '@lockstep/transport';
import type { Loop } from './loop.ts';
import { nextImageName, type RecoveryHandlers } from './recovery.ts';
import { SnapshotInstall } from './snapshot-install.ts';
import { SnapshotReceiver } from './snapshot-receiver.ts';
import { SnapshotSender } from './snapshot-sender.ts';

/** A stream without progress for so many election timeouts is given up. */
const TIMEOUT_ELECTIONS = 30;
/** What a receiver does not acknowledge for so many is sent again. */
const RESEND_ELECTIONS = 2;
const STREAMS_PER_LIFE = 1_000_000;

/** Both directions of state transfer: at most one stream to each follower, one into this member. */
export class SnapshotTransfer {
  readonly #loop: Loop;
  readonly #handlers: RecoveryHandlers;
  readonly #senders = new Map<MemberId, SnapshotSender>();
  /** Followers that installed a state and do not replicate yet: the log is kept for them. */
  readonly #settling = new Map<MemberId, { readonly index: Index; readonly untilMs: number }>();
  #streams = 0;
  #receiver: SnapshotReceiver | undefined;
  #imageName = '';
  #installing = false;
  /** The stream being installed, or installed last. */
  #last: { readonly from: MemberId; readonly stream: number; readonly index: Index } | undefined;
  #askedMs = Number.NEGATIVE_INFINITY;
  #asked = 0;
  /** Last index applied while the log is not trusted, and since when. */
  #appliedIndex: Index = -1;
  #appliedMs = 0;

  constructor(loop: Loop, handlers: RecoveryHandlers) {
    this.#loop = loop;
    this.#handlers = handlers;
  }

  get #timeoutMs(): number {
    return TIMEOUT_ELECTIONS * this.#loop.settings.electionMs;
  }

  /** First log entry that a stream under way still needs; Infinity when there is none. */
  get keepFrom(): Index {
    let index = Number.POSITIVE_INFINITY;
    for (const sender of this.#senders.values()) index = Math.min(index, sender.index + 1);
    for (const settling of this.#settling.values()) index = Math.min(index, settling.index + 1);
    return index;
  }

  /** Raft, or the follower itself, wants the state streamed to it. */
  needed(member: MemberId): void {
    const loop = this.#loop;
    if (this.#senders.has(member)) return;
    const meta = loop.writer.positionWritten;
    if (meta === undefined || !loop.isLinked(member)) {
      loop.raft.reportSnapshot(member, false);
      return;
    }
    mark('snapshot stream begun');
    loop.options.log?.(`streaming the state at ${meta.index} to member ${member}`);
    const { snapshotChunkBytes: chunkBytes, snapshotChunksInFlight } = loop.settings;
    const sender = new SnapshotSender(
      {
        to: member,
        stream: this.#nextStream(),
        meta,
        store: loop.writer.store,
        chunkBytes,
        chunksInFlight: snapshotChunksInFlight,
        timeoutMs: this.#timeoutMs,
        resendMs: RESEND_ELECTIONS * loop.settings.electionMs,
        send: (message) => loop.options.network.send(member, encodeFrame([message]), 'bulk'),
        ended: (ok, reason) => this.#sent(member, meta.index, ok, reason),
      },
      loop.nowMs,
    );
    this.#senders.set(member, sender);
  }

  /** Never the number of a stream of another life of this member. */
  #nextStream(): number {
    this.#streams += 1;
    return this.#loop.options.incarnation * STREAMS_PER_LIFE + this.#streams;
  }

  #sent(member: MemberId, index: Index, ok: boolean, reason: string): void {
    const loop = this.#loop;
    this.#senders.delete(member);
    loop.options.log?.(`state for member ${member}: ${reason}`);
    if (ok) this.#settling.set(member, { index, untilMs: loop.nowMs + this.#timeoutMs });
    loop.raft.reportSnapshot(member, ok);
    loop.wake();
  }

  received(from: MemberId, message: SnapshotMessage): void {
    const loop = this.#loop;
    switch (message.kind) {
      case 'snapshot-begin':
        this.#begin(from, message);
        return;
      case 'snapshot-chunk':
        if (this.#isCurrent(from, message.stream)) this.#receiver!.chunk(message);
        else this.#forgotten(from, message.stream);
        return;
      case 'snapshot-end':
        if (this.#isCurrent(from, message.stream)) this.#receiver!.end(message);
        else this.#forgotten(from, message.stream);
        return;
      case 'snapshot-request':
        // A leader asks when it was elected for its log alone.
        if (message.from === from && (loop.leads || loop.raft.leader === from)) this.needed(from);
        return;
    }
    const sender = this.#senders.get(from);
    if (message.kind === 'snapshot-failed' && this.#isCurrent(from, message.stream)) {
      this.#receiver!.fail(`given up by the sender: ${message.reason}`);
      return;
    }
    if (sender?.stream !== message.stream) return;
    if (message.kind === 'snapshot-ack') sender.acknowledged(message.number, loop.nowMs);
    else if (message.kind === 'snapshot-installed') sender.end(true, 'installed');
    else sender.end(false, `refused: ${message.reason}`);
  }

  /** A stream outlives a lost link, but not the life of its sender or receiver. */
  linkUp({ member, incarnation }: LinkInfo): void {
    this.#senders.get(member)?.resend(this.#loop.nowMs);
    const receiver = this.#receiver;
    if (receiver?.from !== member) return;
    if (Math.floor(receiver.stream / STREAMS_PER_LIFE) !== incarnation) {
      receiver.fail('its sender has started anew');
    }
  }

  tick(nowMs: number): void {
    const loop = this.#loop;
    for (const sender of [...this.#senders.values()]) sender.tick(nowMs);
    this.#receiver?.tick(nowMs);
    this.#settle(nowMs);
    const idle = this.#receiver === undefined && !this.#installing;
    if (!this.#wanted(nowMs) || !idle) return;
    if (nowMs - this.#askedMs < loop.settings.electionMs) return;
    const giver = this.#giver;
    if (giver === undefined) return;
    this.#askedMs = nowMs;
    loop.outbox.add(giver, { kind: 'snapshot-request', from: loop.settings.member });
  }

  /** The leader; a leader itself asks one after the other. */
  get #giver(): MemberId | undefined {
    const { raft, settings, configuration } = this.#loop;
    if (raft.leader !== settings.member) {
      return this.#loop.isLinked(raft.leader) ? raft.leader : undefined;
    }
    const others = configuration.voters.filter((id) => this.#loop.isLinked(id));
    this.#asked += 1;
    return others[this.#asked % others.length];
  }

  /**
   * The image was set aside; or damage took entries that this leader has already counted: it will
   * not send them again, and nothing but a state behind them helps.
   */
  #wanted(nowMs: number): boolean {
    const { imageLost, trust, machine, settings } = this.#loop;
    if (imageLost) return true;
    if (trust.mayVote) return false;
    if (machine.appliedIndex !== this.#appliedIndex) {
      this.#appliedIndex = machine.appliedIndex;
      this.#appliedMs = nowMs;
    }
    return nowMs - this.#appliedMs > 2 * settings.electionMs;
  }

  #settle(nowMs: number): void {
    if (this.#settling.size === 0) return;
    const peers = new Map(this.#loop.raft.status().peers.map((peer) => [peer.id, peer.state]));
    for (const [member, { untilMs }] of this.#settling) {
      const state = peers.get(member);
      if (nowMs >= untilMs || state === undefined || state === 'replicate') {
        this.#settling.delete(member);
      }
    }
  }

  close(): void {
    for (const sender of this.#senders.values()) sender.close();
    this.#senders.clear();
    this.#receiver = undefined;
  }

  // ---- receiving ---------------------------------------------------------------------------

  /** A stream of an earlier life of this member, or one that ended here: its sender must know. */
  #forgotten(from: MemberId, stream: number): void {
    const isLast = this.#isLast(from, stream);
    if (isLast && this.#installing) return;
    const loop = this.#loop;
    const reason = 'the stream is not known here';
    if (isLast) loop.outbox.add(from, { kind: 'snapshot-installed', ...this.#last! });
    else loop.outbox.add(from, { kind: 'snapshot-failed', stream, reason });
    loop.wake();
  }

  #isLast(from: MemberId, stream: number): boolean {
    return this.#last?.from === from && this.#last.stream === stream;
  }

  #isCurrent(from: MemberId, stream: number): boolean {
    return this.#receiver?.from === from && this.#receiver.stream === stream;
  }

  #begin(from: MemberId, message: SnapshotBegin): void {
    const loop = this.#loop;
    const { stream, meta } = message;
    const refuse = (reason: string) => {
      loop.outbox.add(from, { kind: 'snapshot-failed', stream, reason });
    };
    // It was sent again.
    if (this.#isCurrent(from, stream) || this.#isLast(from, stream)) return;
    const former = this.#receiver;
    if (former !== undefined || this.#installing) {
      mark('second snapshot stream refused');
      // A sender has one stream at a time: it gave up the one before, and its word was lost. One
      // that is away may never come back; and the leader's own goes before those of others.
      const isLeft = former?.from === from || !loop.isLinked(former?.from ?? from);
      if (isLeft || from === loop.raft.leader) former?.fail('another stream begins');
      refuse('another stream is being received');
      return;
    }
    if (!loop.imageLost && meta.index <= loop.machine.appliedIndex) {
      refuse(`applied already ${loop.machine.appliedIndex}`);
      return;
    }
    mark('snapshot receive begun');
    const { directory, images } = loop.options;
    const name = nextImageName(directory.image ?? 'image-0');
    this.#imageName = name;
    const receiver = new SnapshotReceiver({
      from,
      stream,
      meta,
      chunksInFlight: loop.settings.snapshotChunksInFlight,
      timeoutMs: this.#timeoutMs,
      nowMs: () => loop.nowMs,
      reply: (reply) => {
        loop.outbox.add(from, reply);
        loop.wake();
      },
      complete: (store) => this.#install(receiver, store),
      failed: (reason, store) => this.#failed(receiver, reason, store),
    });
    this.#receiver = receiver;
    images.remove(name, () => {
      images.open(name, true, (error, store) => {
        if (loop.stopped) return;
        if (error !== undefined) receiver.fail(`image cannot be made: ${error.message}`);
        else receiver.opened(store);
      });
    });
  }

  #install(receiver: SnapshotReceiver, store: ImageStore): void {
    const loop = this.#loop;
    if (loop.stopped) return;
    const { from, stream, meta } = receiver;
    const former = loop.options.directory.image;
    this.#receiver = undefined;
    this.#installing = true;
    this.#last = { from, stream, index: meta.index };
    const install = new SnapshotInstall(loop, this.#handlers, this.#imageName, meta, (failure) => {
      this.#installing = false;
      if (failure !== undefined) {
        this.#last = undefined;
        this.#failed(receiver, failure, store);
        return;
      }
      loop.outbox.add(from, { kind: 'snapshot-installed', stream, index: meta.index });
      if (former !== undefined) loop.options.images.remove(former, () => {});
      loop.wake();
    });
    install.begin(store);
  }

  #failed(receiver: SnapshotReceiver, reason: string, store: ImageStore | undefined): void {
    const loop = this.#loop;
    if (loop.stopped) return;
    const { from, stream } = receiver;
    loop.options.log?.(`state from member ${from} not installed: ${reason}`);
    loop.outbox.add(from, { kind: 'snapshot-failed', stream, reason });
    loop.wake();
    const name = this.#imageName;
    const over = () => {
      if (this.#receiver === receiver) this.#receiver = undefined;
    };
    if (store === undefined) over();
    else store.close(() => loop.options.images.remove(name, over));
  }
}
