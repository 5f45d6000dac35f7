import { type BinaryReader, BinaryWriter, type MemberId } from '@lockstep/model';
import type { Loop } from './loop.ts';
import { isVoter } from './next-configuration.ts';

/** Door of the gossip by which the leader tells which learners have caught up. */
export const CAUGHT_UP = ':caught-up';

/** A learner may be promoted when it holds this part of the leader's log (etcd's rule) … */
const MATCH_PART = 0.9;
/** … and lacks no more entries than it can fetch in a moment: of a long log a tenth is much. */
const LAG_ENTRIES_MAX = 5000;

/** What the leader said so often per election timeout counts for one election timeout. */
const TELLS_PER_ELECTION = 4;

/**
 * Which learners hold enough of the log to vote without holding up the cluster. Only the leader
 * knows; it tells the others, since a promotion may be asked of any member.
 */
export class CatchUp {
  readonly #loop: Loop;
  #told: { readonly by: MemberId; readonly ids: readonly MemberId[]; readonly atMs: number };
  #tellMs = Number.NEGATIVE_INFINITY;

  constructor(loop: Loop) {
    this.#loop = loop;
    this.#told = { by: 0, ids: [], atMs: Number.NEGATIVE_INFINITY };
  }

  /** As this member sees it, or as the leader has said lately. */
  has(id: MemberId): boolean {
    const { leads, raft, nowMs, settings } = this.#loop;
    if (leads) return this.#caughtUp().includes(id);
    const { by, ids, atMs } = this.#told;
    return by === raft.leader && nowMs - atMs < settings.electionMs && ids.includes(id);
  }

  /** Once per tick while leading. */
  tick(nowMs: number): void {
    const { settings, configuration } = this.#loop;
    if (configuration.learners.length === 0) return;
    if (nowMs - this.#tellMs < settings.electionMs / TELLS_PER_ELECTION) return;
    this.#tellMs = nowMs;
    const ids = this.#caughtUp();
    const writer = new BinaryWriter(32).varint(ids.length);
    for (const id of ids) writer.varint(id);
    this.#loop.gossip(CAUGHT_UP, writer.take());
  }

  /** Throws BinaryFormatError when malformed. */
  told(by: MemberId, reader: BinaryReader): void {
    const ids: MemberId[] = [];
    for (let left = reader.varint(); left > 0; left--) ids.push(reader.varint());
    this.#told = { by, ids, atMs: this.#loop.nowMs };
  }

  #caughtUp(): MemberId[] {
    const { raft, contact, nowMs, settings } = this.#loop;
    const { peers, lastIndex, configuration } = raft.status();
    return peers
      .filter(({ id, match, state }) => {
        if (state !== 'replicate' || isVoter(configuration, id)) return false;
        if (match < MATCH_PART * lastIndex || lastIndex - match > LAG_ENTRIES_MAX) return false;
        return contact.heardWithin(id, settings.electionMs, nowMs);
      })
      .map(({ id }) => id);
  }
}
