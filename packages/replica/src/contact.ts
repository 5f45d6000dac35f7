import { type MemberId, NO_MEMBER } from '@lockstep/model';
import type { Configuration } from '@lockstep/raft';
import type { ClockSample } from '@lockstep/transport';

interface PeerContact {
  /** When anything last came from it, by this member's monotonic clock. */
  heardMs: number;
  /** Own stamp it echoed last: this member was certainly heard after that moment. */
  ackedMs: number;
  /** Its newest stamp, to be echoed; −1 when the link is new. */
  theirStampMs: number;
  /** Its wall clock minus this member's monotonic clock. */
  wallOffsetMs: number;
  hasWall: boolean;
  /** It said that it leads with a live quorum. */
  quorum: boolean;
  sampledMs: number;
}

const NEVER = Number.NEGATIVE_INFINITY;

/**
 * Who was heard when. Members stamp their frames with their monotonic clock and echo the other's
 * stamp, so that each knows how recently it was heard itself, without comparing clocks
 * (design §6: contact, live quorum; §4: wall clocks).
 */
export class Contact {
  readonly #member: MemberId;
  readonly #electionMs: number;
  readonly #sampleMs: number;
  readonly #peers = new Map<MemberId, PeerContact>();
  /** A majority certainly heard this member, through `#confirmedBy`, after this moment. */
  #confirmedMs = NEVER;
  #confirmedBy: MemberId = NO_MEMBER;
  /** At the last look this member led with a majority. */
  #ledBefore = false;

  constructor(member: MemberId, electionMs: number, sampleMs: number) {
    this.#member = member;
    this.#electionMs = electionMs;
    this.#sampleMs = sampleMs;
  }

  heard(member: MemberId, nowMs: number): void {
    this.#peer(member).heardMs = nowMs;
  }

  received(member: MemberId, sample: ClockSample, nowMs: number): void {
    const peer = this.#peer(member);
    peer.theirStampMs = sample.stampMs;
    if (sample.echoMs >= 0) peer.ackedMs = Math.max(peer.ackedMs, Math.min(sample.echoMs, nowMs));
    peer.wallOffsetMs = sample.wallMs - nowMs;
    peer.hasWall = true;
    peer.quorum = sample.quorum;
  }

  linkChanged(member: MemberId): void {
    this.#peer(member).theirStampMs = -1;
  }

  /** What to add to a frame for that member; undefined while the last one is recent. */
  sample(
    member: MemberId,
    nowMs: number,
    wallMs: number,
    quorum: boolean,
  ): ClockSample | undefined {
    const peer = this.#peer(member);
    if (nowMs - peer.sampledMs < this.#sampleMs) return undefined;
    peer.sampledMs = nowMs;
    return { kind: 'clock', wallMs, stampMs: nowMs, echoMs: peer.theirStampMs, quorum };
  }

  heardWithin(member: MemberId, withinMs: number, nowMs: number): boolean {
    return nowMs - (this.#peers.get(member)?.heardMs ?? NEVER) <= withinMs;
  }

  /** True when a majority of voters (of both halves) heard this member lately. */
  quorumLive(configuration: Configuration, nowMs: number): boolean {
    const { voters, votersOutgoing } = configuration;
    const whole = votersOutgoing.length === 0 || this.#majority(votersOutgoing, nowMs);
    return whole && this.#majority(voters, nowMs);
  }

  #majority(voters: readonly MemberId[], nowMs: number): boolean {
    let live = 0;
    for (const id of voters) if (id === this.#member || this.#acked(id, nowMs)) live++;
    return live * 2 > voters.length;
  }

  #acked(id: MemberId, nowMs: number): boolean {
    return nowMs - (this.#peers.get(id)?.ackedMs ?? NEVER) < this.#electionMs;
  }

  /**
   * True while a majority was heard through a leader less than an election timeout ago: the leader
   * acknowledged a frame sent since then and said that it has a majority, or this member led with
   * one. A change of leader does not end it, or each hand-over would cost ZooKeeper's clients their
   * connections; the same leader's word that it lost its majority does.
   */
  throughLeader(leader: MemberId, configuration: Configuration, nowMs: number): boolean {
    if (leader === this.#member) {
      this.#ledBefore = this.quorumLive(configuration, nowMs);
      this.#confirmedBy = leader;
      this.#confirmedMs = NEVER;
      return this.#ledBefore;
    }
    if (this.#ledBefore) {
      this.#ledBefore = false;
      this.#confirmedMs = this.#majorityAckedMs(configuration, nowMs);
    }
    const peer = this.#peers.get(leader);
    if (peer?.quorum === true) {
      this.#confirmedBy = leader;
      this.#confirmedMs = Math.max(this.#confirmedMs, peer.ackedMs);
    } else if (leader !== NO_MEMBER && leader === this.#confirmedBy) {
      this.#confirmedMs = NEVER;
    }
    return nowMs - this.#confirmedMs < this.#electionMs;
  }

  /** Latest moment after which a majority of voters, of both halves, certainly heard this. */
  #majorityAckedMs({ voters, votersOutgoing }: Configuration, nowMs: number): number {
    const acked = (id: MemberId): number =>
      id === this.#member ? nowMs : (this.#peers.get(id)?.ackedMs ?? NEVER);
    const majority = (ids: readonly MemberId[]): number =>
      ids.map(acked).sort((a, b) => b - a)[ids.length >> 1] ?? nowMs;
    return Math.min(majority(voters), majority(votersOutgoing));
  }

  /** Median of the wall clocks of the members heard lately, this one's included. */
  medianWallMs(nowMs: number, ownWallMs: number): number {
    const walls = [ownWallMs];
    for (const peer of this.#peers.values()) {
      const recent = nowMs - peer.heardMs < this.#electionMs;
      if (recent && peer.hasWall) walls.push(Math.floor(peer.wallOffsetMs + nowMs));
    }
    walls.sort((a, b) => a - b);
    return walls[(walls.length - 1) >> 1]!;
  }

  #peer(member: MemberId): PeerContact {
    let peer = this.#peers.get(member);
    if (peer === undefined) {
      peer = {
        heardMs: NEVER,
        ackedMs: NEVER,
        theirStampMs: -1,
        wallOffsetMs: 0,
        hasWall: false,
        quorum: false,
        sampledMs: NEVER,
      };
      this.#peers.set(member, peer);
    }
    return peer;
  }
}
