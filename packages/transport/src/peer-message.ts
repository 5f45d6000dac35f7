import type { Incarnation, Index, MemberId, RenewalGroup, Run, Sequence } from '@lockstep/model';
import type { Message, SnapshotMeta } from '@lockstep/raft';

/**
 * Everything one member says to another. Who says it is proved by the link's handshake; raft
 * messages name sender and receiver themselves.
 */
export type PeerMessage =
  | Message
  | Forward
  | ForwardRefused
  | Renew
  | ClockSample
  | LeaderTimes
  | Gossip
  | StateHash
  | SnapshotMessage;

/** Commands of a member on their way to the leader (design §4). */
export interface Forward {
  readonly kind: 'forward';
  readonly run: Run;
}

/** The run was not taken: not leading, or numbers are missing before it. */
export interface ForwardRefused {
  readonly kind: 'forward-refused';
  readonly incarnation: Incarnation;
  /** Number that the leader wants next; 0 when the receiver does not lead. */
  readonly expected: Sequence;
}

/** Keep-alives on their way to the leader; answered by their place in the log. */
export interface Renew {
  readonly kind: 'renew';
  readonly group: RenewalGroup;
}

/**
 * Goes with every heartbeat and its answer. `stamp` is the sender's monotonic clock; the receiver
 * echoes it, which tells the sender how recently it was heard. `wallMs` feeds the median (§4).
 */
export interface ClockSample {
  readonly kind: 'clock';
  readonly wallMs: number;
  readonly stampMs: number;
  /** Newest stamp received from the addressee on this link; −1 when there is none. */
  readonly echoMs: number;
  /** True while the sender leads and has itself heard a majority within an election timeout. */
  readonly quorum: boolean;
}

/** The leader's present times, before the read-index answers of the same frame (design §6). */
export interface LeaderTimes {
  readonly kind: 'times';
  readonly clusterMs: number;
  readonly wallMs: number;
}

/** A small message between the same doors of two members; best effort. */
export interface Gossip {
  readonly kind: 'gossip';
  readonly door: string;
  readonly payload: Uint8Array;
}

/** Sample for the leader: the sender's state hash behind entry `index` (design §11). */
export interface StateHash {
  readonly kind: 'state-hash';
  readonly index: Index;
  readonly hash: string;
}

export type SnapshotMessage =
  | SnapshotBegin
  | SnapshotChunk
  | SnapshotAck
  | SnapshotEnd
  | SnapshotInstalled
  | SnapshotFailed
  | SnapshotRequest;

/** Opens a stream of image records on the bulk channel (design §11). */
export interface SnapshotBegin {
  readonly kind: 'snapshot-begin';
  /** Names the stream; grows with each stream of that sender. */
  readonly stream: number;
  readonly meta: SnapshotMeta;
}

export interface SnapshotChunk {
  readonly kind: 'snapshot-chunk';
  readonly stream: number;
  /** 1, 2, 3 … */
  readonly number: number;
  /** CRC-32 of `bytes`. */
  readonly crc: number;
  readonly bytes: Uint8Array;
}

/** All chunks up to `number` are written by the receiver; the sender may send more. */
export interface SnapshotAck {
  readonly kind: 'snapshot-ack';
  readonly stream: number;
  readonly number: number;
}

export interface SnapshotEnd {
  readonly kind: 'snapshot-end';
  readonly stream: number;
  readonly chunks: number;
  /** CRC-32 over all chunks' bytes, one after another. */
  readonly crc: number;
}

/** The receiver has verified and switched to the state of the stream. */
export interface SnapshotInstalled {
  readonly kind: 'snapshot-installed';
  readonly stream: number;
  readonly index: number;
}

/** Either side gives the stream up. */
export interface SnapshotFailed {
  readonly kind: 'snapshot-failed';
  readonly stream: number;
  readonly reason: string;
}

/** A member whose image is damaged asks the leader for one (design §11). */
export interface SnapshotRequest {
  readonly kind: 'snapshot-request';
  readonly from: MemberId;
}
