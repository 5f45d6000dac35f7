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
import type { MemberRecord } from '@lockstep/state-machine';
import { readConfiguration, writeConfiguration } from './configuration-format.ts';
import type { Loop } from './loop.ts';

/** Door of the gossip by which members tell each other who leads; no door of clients has it. */
export const INTRODUCTIONS = ':leader';

/**
 * Membership follows the replicated member records (design §10): adding, promoting or removing a
 * member is a command like any other; the leader then moves raft's configuration towards the
 * records, one member at a time, so that old and new quorums always overlap (thesis §4.1).
 */
export class MembershipKeeper {
  readonly #loop: Loop;
  /** Where each member was last known to listen: a voter is needed until its removal is applied,
   * although its record, and with it the address, is gone before. */
  readonly #addresses = new Map<MemberId, PeerAddress>();
  #followedMs = 0;
  /** Leader that another member told of; perhaps one that joined while this member was away. */
  #introduced: PeerAddress | undefined;

  constructor(loop: Loop) {
    this.#loop = loop;
  }

  /** Once per tick: a record's address may change without a change of configuration. */
  follow(nowMs: number): void {
    if (nowMs - this.#followedMs < this.#loop.settings.electionMs) return;
    this.#followedMs = nowMs;
    this.#introduce();
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

  /** Another member says who leads. */
  introduced(payload: Uint8Array): void {
    try {
      const reader = new BinaryReader(payload);
      const [id, address] = [reader.varint(), utf8Text(reader.bytes())];
      if (id !== this.#loop.settings.member) this.#introduced = { id, address };
    } catch (error) {
      if (!(error instanceof BinaryFormatError)) throw error;
      this.#loop.options.log?.(`an introduction is malformed: ${error.message}`);
    }
  }

  /** Once per tick while leading; raft refuses while an earlier change is not applied. */
  tick(): void {
    const { machine, configuration, raft, leaderTimes, settings } = this.#loop;
    const next = nextConfiguration(configuration, machine.members(), settings.member);
    if (next === undefined) return;
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
    if (result === 'ok') mark('configuration proposed');
  }

  /** A Configuration entry was applied. Returns the configuration now in force. */
  configured(change: Uint8Array): Configuration {
    const { raft, compaction, machine, options } = this.#loop;
    const configuration = raft.applyConfiguration({
      configuration: readConfiguration(new BinaryReader(change)),
    });
    compaction.configured(machine.appliedIndex, configuration);
    const { voters, learners } = configuration;
    options.log?.(`voters are ${voters.join(', ')}; learners: ${learners.join(', ') || 'none'}`);
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
    const introduced = this.#introduced;
    const { leader } = this.#loop.raft;
    if (introduced !== undefined && (leader === NO_MEMBER || leader === introduced.id)) {
      members.add(introduced.id);
      if (!addresses.has(introduced.id)) addresses.set(introduced.id, introduced);
    }
    const peers = [...members].map((id) => addresses.get(id));
    options.network.setPeers(peers.filter((peer) => peer !== undefined));
  }
}

/**
 * The next single step from a configuration to the one that the records want; undefined when there
 * is none. Members are added before others are removed, the leader itself is removed last, and the
 * last voter never.
 */
export function nextConfiguration(
  configuration: Configuration,
  records: readonly MemberRecord[],
  leader: MemberId,
): Configuration | undefined {
  const { voters, votersOutgoing, learners } = configuration;
  if (votersOutgoing.length > 0 || records.length === 0) return undefined;
  const wantedVoters = records.filter((record) => !record.learner).map(({ id }) => id);
  const wantedLearners = records.filter((record) => record.learner).map(({ id }) => id);
  const changed = (parts: Partial<Configuration>): Configuration => ({
    ...configuration,
    ...parts,
  });
  const without = (ids: readonly MemberId[], id: MemberId) => ids.filter((other) => other !== id);
  const add = (ids: readonly MemberId[], id: MemberId) => [...ids, id].sort((a, b) => a - b);

  const learner = wantedLearners.find((id) => !learners.includes(id) && !voters.includes(id));
  if (learner !== undefined) return changed({ learners: add(learners, learner) });
  const voter = wantedVoters.find((id) => !voters.includes(id));
  if (voter !== undefined) {
    return changed({ voters: add(voters, voter), learners: without(learners, voter) });
  }
  const gone = learners.find((id) => !wantedLearners.includes(id));
  if (gone !== undefined) return changed({ learners: without(learners, gone) });
  const leaving = voters.filter((id) => !wantedVoters.includes(id));
  const removed = leaving.find((id) => id !== leader) ?? leaving[0];
  if (removed === undefined || voters.length === 1) return undefined;
  const demoted = wantedLearners.includes(removed) ? add(learners, removed) : learners;
  return changed({ voters: without(voters, removed), learners: demoted });
}
