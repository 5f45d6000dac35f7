import {
  BinaryFormatError,
  BinaryReader,
  BinaryWriter,
  EntryKind,
  encodeEntry,
  type MemberId,
  mark,
  NO_MEMBER,
  type PeerAddress,
  utf8Bytes,
  utf8Text,
} from '@lockstep/model';
import type { Configuration } from '@lockstep/raft';
import { hasStarted, MEMBERSHIP_LEVEL } from '@lockstep/state-machine';
import { CAUGHT_UP, CatchUp } from './catch-up.ts';
import { readConfiguration, writeConfiguration } from './configuration-format.ts';
import type { Loop } from './loop.ts';
import { isMember, isVoter, nextConfiguration } from './next-configuration.ts';

/** Gossip of the members among themselves; no door of clients has a name that begins so. */
const OWN_GOSSIP = ':';
/** By it members tell each other who leads. */
const INTRODUCTIONS = ':leader';
/** By it they tell one that it is a member no more. */
const FAREWELL = ':removed';

/** Election timeouts for which a link to a member that is none any more is kept, to tell it so. */
const FAREWELL_ELECTIONS = 10;

/** A leader that goes tries so often to hand over before it changes the configuration. */
const HAND_OVERS_MAX = 3;

/**
 * Membership follows the replicated member records (design §10): adding, promoting or removing a
 * member is a command like any other; the leader then moves raft's configuration towards the
 * records, step by step (`nextConfiguration`).
 */
export class MembershipKeeper {
  readonly catchUp: CatchUp;
  readonly #loop: Loop;
  /** Where each member was last known to listen: a voter is needed until its removal is applied,
   * although its record, and with it the address, is gone before. */
  readonly #addresses = new Map<MemberId, PeerAddress>();
  #followedMs = 0;
  /** Leader that another member told of; perhaps one that joined while this member was away. */
  #introduced: PeerAddress | undefined;
  /** Members that left the configuration while they were linked, and until when they are told. */
  readonly #leaving = new Map<MemberId, number>();
  #peers: ReadonlySet<MemberId> = new Set();
  #dismissed = false;
  #handOvers = 0;
  #handingOver = false;
  #waits = '';

  constructor(loop: Loop) {
    this.#loop = loop;
    this.catchUp = new CatchUp(loop);
  }

  /** A member that has applied this member's removal says that it is none any more. */
  get isDismissed(): boolean {
    return this.#dismissed;
  }

  /** This member's tombstone is applied, and the cluster does without it. */
  get isRemoved(): boolean {
    const { configuration, settings, machine } = this.#loop;
    if (isMember(configuration, settings.member)) return false;
    return machine.removedMembers().some(({ id }) => id === settings.member);
  }

  /** Once per tick: a record's address may change without a change of configuration. */
  follow(nowMs: number): void {
    if (nowMs - this.#followedMs < this.#loop.settings.electionMs) return;
    this.#followedMs = nowMs;
    this.#introduce();
    this.#sayFarewell(nowMs);
    this.updatePeers(this.#loop.configuration);
  }

  /**
   * A member whose own state is old may not know the leader, nor accept a link from it; then it
   * would never hear of the change that added it. So followers say where the leader listens.
   */
  #introduce(): void {
    const { raft, settings } = this.#loop;
    const address = this.#addresses.get(raft.leader)?.address;
    if (raft.leader === settings.member || address === undefined) return;
    const writer = new BinaryWriter(64).varint(raft.leader).bytes(utf8Bytes(address));
    this.#loop.gossip(INTRODUCTIONS, writer.take());
  }

  /** It may not get the entry that removes it: once it is applied nobody sends it any more. */
  #sayFarewell(nowMs: number): void {
    for (const [id, untilMs] of this.#leaving) {
      if (nowMs >= untilMs || !this.#loop.isLinked(id)) this.#leaving.delete(id);
      else {
        const payload = new BinaryWriter(8).varint(id).take();
        this.#loop.outbox.add(id, { kind: 'gossip', door: FAREWELL, payload });
      }
    }
  }

  /** Gossip of another member; false when it is meant for the doors. */
  gossip(from: MemberId, door: string, payload: Uint8Array): boolean {
    if (!door.startsWith(OWN_GOSSIP)) return false;
    try {
      this.#told(from, door, new BinaryReader(payload));
    } catch (error) {
      if (!(error instanceof BinaryFormatError)) throw error;
      this.#loop.options.log?.(`gossip ${door} of member ${from} is malformed: ${error.message}`);
    }
    return true;
  }

  #told(from: MemberId, door: string, reader: BinaryReader): void {
    const { member } = this.#loop.settings;
    if (door === CAUGHT_UP) this.catchUp.told(from, reader);
    else if (door === FAREWELL) this.#dismissed ||= reader.varint() === member;
    else if (door === INTRODUCTIONS) {
      const [id, address] = [reader.varint(), utf8Text(reader.bytes())];
      if (id !== member) this.#introduced = { id, address };
    }
  }

  /** Once per tick while leading; raft refuses while an earlier change is not applied. */
  tick(nowMs: number): void {
    this.catchUp.tick(nowMs);
    const { configuration, machine, settings } = this.#loop;
    const records = machine.members();
    const started = new Set(records.filter(hasStarted).map(({ id }) => id));
    const next = nextConfiguration(
      configuration,
      records,
      (id) => started.has(id) && this.catchUp.has(id),
      machine.featureLevel >= MEMBERSHIP_LEVEL,
    );
    if (next === undefined || !this.#isSound(next, nowMs)) return;
    const leaves =
      !next.voters.includes(settings.member) && isVoter(configuration, settings.member);
    if (!leaves) this.#handOvers = 0;
    else if (this.#handsOver(next, nowMs)) return;
    this.#propose(next);
  }

  /**
   * Whether a majority of the voters to be is there to go on with: what the present ones can still
   * commit must not leave a cluster that cannot (M-15).
   */
  #isSound(next: Configuration, nowMs: number): boolean {
    const { contact, settings, configuration, options } = this.#loop;
    if (next.voters.every((id) => configuration.voters.includes(id))) {
      if (next.voters.length >= configuration.voters.length) return true;
    }
    const silent = next.voters.filter(
      (id) => id !== settings.member && !contact.heardWithin(id, settings.electionMs, nowMs),
    );
    const sound = silent.length * 2 < next.voters.length;
    const waits = sound ? '' : silent.join(', ');
    if (waits !== this.#waits && !sound) {
      mark('change of configuration waits for a majority');
      options.log?.(`voters ${next.voters.join(', ')} are not in force: ${waits} cannot be heard`);
    }
    this.#waits = waits;
    return sound;
  }

  /** A leader that goes hands over first to one that stays; true while that is under way. */
  #handsOver(next: Configuration, nowMs: number): boolean {
    if (this.#handingOver) return true;
    const { raft, transfers, options, settings } = this.#loop;
    const candidates = raft
      .status()
      .peers.filter(({ id, recentlyActive }) => recentlyActive && next.voters.includes(id))
      .sort((a, b) => b.match - a.match);
    const [target] = candidates;
    // Raft lets a leader that is no voter any more hand over by itself, only later.
    if (target === undefined || this.#handOvers >= HAND_OVERS_MAX) return false;
    mark('a leader to be removed hands over');
    options.log?.(`this member leaves the cluster: member ${target.id} is to lead it`);
    this.#handOvers += 1;
    this.#handingOver = true;
    transfers.begin(target.id, nowMs + settings.electionMs, () => {
      this.#handingOver = false;
    });
    return true;
  }

  #propose(next: Configuration): void {
    const { raft, leaderTimes } = this.#loop;
    const writer = new BinaryWriter(64);
    writeConfiguration(writer, next);
    const { clusterMs: time, wallMs: wall } = leaderTimes;
    const result = raft.proposeConfiguration(
      encodeEntry({
        kind: EntryKind.Configuration,
        time,
        wall,
        renewals: [],
        runs: [],
        configuration: writer.take(),
      }),
    );
    if (result !== 'ok') return;
    mark('configuration proposed');
    if (next.votersOutgoing.length > 0) mark('joint configuration proposed');
  }

  /** A Configuration entry was applied. Returns the configuration now in force. */
  configured(change: Uint8Array): Configuration {
    const { raft, compaction, machine, options } = this.#loop;
    const configuration = raft.applyConfiguration({
      configuration: readConfiguration(new BinaryReader(change)),
    });
    compaction.configured(machine.appliedIndex, configuration);
    options.log?.(described(configuration));
    return configuration;
  }

  /** Links to all members of the configuration, at the addresses of their records. */
  updatePeers(configuration: Configuration): void {
    const { options, machine, settings } = this.#loop;
    const addresses = this.#addresses;
    for (const peer of options.peers) if (!addresses.has(peer.id)) addresses.set(peer.id, peer);
    for (const { id, peerAddress } of machine.members()) {
      if (peerAddress !== '') addresses.set(id, { id, address: peerAddress });
    }
    const { voters, votersOutgoing, learners } = configuration;
    const members = new Set([...voters, ...votersOutgoing, ...learners]);
    members.delete(settings.member);
    this.#keepLeaving(members);
    const introduced = this.#introduced;
    const { leader } = this.#loop.raft;
    if (introduced !== undefined && (leader === NO_MEMBER || leader === introduced.id)) {
      members.add(introduced.id);
      if (!addresses.has(introduced.id)) addresses.set(introduced.id, introduced);
    }
    const peers = [...members].map((id) => addresses.get(id));
    options.network.setPeers(peers.filter((peer) => peer !== undefined));
  }

  /** Those that go now stay linked until they know, save one in whose place another listens. */
  #keepLeaving(members: Set<MemberId>): void {
    const { nowMs, settings } = this.#loop;
    const untilMs = nowMs + FAREWELL_ELECTIONS * settings.electionMs;
    for (const id of this.#peers) {
      if (!members.has(id) && this.#loop.isLinked(id)) this.#leaving.set(id, untilMs);
    }
    this.#peers = new Set(members);
    const taken = new Set([...members].map((id) => this.#addresses.get(id)?.address));
    for (const id of this.#leaving.keys()) {
      if (members.has(id) || taken.has(this.#addresses.get(id)?.address)) this.#leaving.delete(id);
      else members.add(id);
    }
  }
}

function described({ voters, votersOutgoing, learners }: Configuration): string {
  const former = votersOutgoing.length === 0 ? '' : `, with ${votersOutgoing.join(', ')} before`;
  return `voters are ${voters.join(', ')}${former}; learners: ${learners.join(', ') || 'none'}`;
}
