import {
  BinaryFormatError,
  type Incarnation,
  type LinkInfo,
  type MemberId,
  mark,
  type Sequence,
} from '@lockstep/model';
import type { Message, Raft } from '@lockstep/raft';
import {
  decodeFrame,
  type PeerMessage,
  type SnapshotMessage,
  type StateHash,
} from '@lockstep/transport';
import type { Contact } from './contact.ts';
import type { Forwarder } from './forwarder.ts';

import type { LogRepair } from './log-repair.ts';
import { LOG_REPAIR } from './log-repair-message.ts';

import type { EntryTimes, Proposer } from './proposer.ts';
import type { Subscribers } from './subscribers.ts';

export interface PeerInputOptions {
  readonly raft: Raft;
  readonly contact: Contact;
  readonly forwarder: Forwarder;
  readonly proposer: Proposer;
  readonly subscribers: Subscribers;
  readonly repair: LogRepair;
  /** Last number applied here of that member's incarnation; 0 when unknown. */
  lastSequence(member: MemberId, incarnation: Incarnation): Sequence;
  /** This member leads and can take commands. */
  leads(): boolean;
  /** Number of the present link to a member, 0 when there is none. */
  linkOf(member: MemberId): number;
  send(to: MemberId, message: PeerMessage): void;
  /** Ends a link on which a frame came that makes no sense. */
  reset(link: LinkInfo, reason: string): void;
  snapshot(from: MemberId, message: SnapshotMessage): void;
  stateHash(from: MemberId, sample: StateHash): void;
  /** Gossip of members among themselves; false when it is for the doors. */
  gossip(from: MemberId, door: string, payload: Uint8Array): boolean;
  /** False for a command that would stop every member that applies it. */
  knows(command: Uint8Array): boolean;
}

interface Received {
  readonly link: LinkInfo;
  readonly frame: Uint8Array;
}

/** Frames from peers: queued as they come, stepped at the head of the next turn. */
export class PeerInput {
  readonly #options: PeerInputOptions;
  #queue: Received[] = [];
  #times: EntryTimes = { clusterMs: 0, wallMs: 0 };

  constructor(options: PeerInputOptions) {
    this.#options = options;
  }

  /** The leader's times as last heard, for the reads it answers. */
  get leaderTimes(): EntryTimes {
    return this.#times;
  }

  push(link: LinkInfo, frame: Uint8Array): void {
    this.#queue.push({ link, frame });
  }

  step(nowMs: number): void {
    if (this.#queue.length === 0) return;
    const queue = this.#queue;
    this.#queue = [];
    let closed: LinkInfo | undefined;
    for (const { link, frame } of queue) {
      // What follows a malformed frame on its link cannot be trusted either.
      if (closed?.member === link.member && closed.link === link.link) continue;
      let messages: PeerMessage[];
      try {
        messages = decodeFrame(frame);
      } catch (error) {
        if (!(error instanceof BinaryFormatError)) throw error;
        mark('malformed frame');
        const reason = `frame of member ${link.member} is malformed: ${error.message}`;
        this.#options.reset(link, reason);
        closed = link;
        continue;
      }
      this.#options.contact.heard(link.member, nowMs);
      for (const message of messages) this.#one(link, message, nowMs);
    }
  }

  #one(link: LinkInfo, message: PeerMessage, nowMs: number): void {
    const { raft, contact, proposer, subscribers, repair } = this.#options;
    switch (message.kind) {
      case 'forward':
        this.#forward(link, message.run);
        return;
      case 'forward-refused':
        this.#refused(link, message.incarnation, message.expected, nowMs);
        return;
      case 'renew':
        if (this.#options.leads() && message.group.origin === link.member) {
          proposer.enterTerm(raft.term);
          proposer.takeRenewals(message.group);
        }
        return;
      case 'clock':
        // A stamp of an earlier link may come from another life of that member.
        if (this.#options.linkOf(link.member) === link.link) {
          contact.received(link.member, message, nowMs);
        }
        return;
      case 'times':
        if (raft.leader === link.member) {
          this.#times = { clusterMs: message.clusterMs, wallMs: message.wallMs };
        }
        return;
      case 'state-hash':
        this.#options.stateHash(link.member, message);
        return;
      case 'gossip':
        if (message.door === LOG_REPAIR) repair.received(link.member, message.payload);
        else if (!this.#options.gossip(link.member, message.door, message.payload)) {
          subscribers.gossip(link.member, message.door, message.payload);
        }
        return;
      default:
        if (repair.holds(link.member, message)) return;
        if (isSnapshotMessage(message)) this.#options.snapshot(link.member, message);
        else if (message.from === link.member) raft.step(message);
    }
  }

  #forward(link: LinkInfo, run: Parameters<Proposer['takeRun']>[1]): void {
    const { raft, proposer, send, reset } = this.#options;
    const leads = this.#options.leads();
    if (leads && !run.commands.every(this.#options.knows)) {
      const { member } = link;
      reset(link, `member ${member} forwards a command that this software does not know`);
      return;
    }
    if (leads) proposer.enterTerm(raft.term);
    const applied = this.#options.lastSequence(run.origin, run.incarnation);
    const wanted = leads ? proposer.takeRun(link, run, applied) : 0;
    if (leads && wanted === 0) return;
    const { incarnation } = run;
    send(link.member, { kind: 'forward-refused', incarnation, expected: wanted });
  }

  #refused(link: LinkInfo, incarnation: number, expected: number, nowMs: number): void {
    const { raft, forwarder } = this.#options;
    if (incarnation !== forwarder.incarnation || link.member !== raft.leader) return;
    forwarder.refused(expected, nowMs);
  }
}

function isSnapshotMessage(message: SnapshotMessage | Message): message is SnapshotMessage {
  return message.kind.startsWith('snapshot-');
}
