import { type MemberId, mark, NO_MEMBER } from '@lockstep/model';
import type { Configuration } from '@lockstep/raft';
import type { StateHash } from '@lockstep/transport';
import type { Loop } from './loop.ts';

/** Samples kept per member: one that lags a little still meets those of the others. */
const SAMPLES_KEPT = 8;

/**
 * State hashes compared through the log (design §11). Every member samples its hash at fixed
 * indexes and tells the leader; the leader has the log carry only a hash on which a majority of
 * voters agrees, be it its own or not, so that whoever is wrong stops and never the majority.
 */
export class HashChecks {
  readonly #loop: Loop;
  readonly #samples = new Map<MemberId, StateHash[]>();
  #own: StateHash | undefined;
  /** Leader and link that were told the own sample. */
  #told = '';
  #checkedIndex = 0;
  #disputedIndex = 0;

  constructor(loop: Loop) {
    this.#loop = loop;
  }

  /** After each entry. */
  applied(index: number): void {
    if (index % this.#loop.settings.hashCheckEntries !== 0) return;
    this.#own = { kind: 'state-hash', index, hash: this.#loop.machine.stateHash() };
    this.received(this.#loop.settings.member, this.#own);
  }

  /** A sample of a member; kept here too by those that do not lead now. */
  received(from: MemberId, sample: StateHash): void {
    const others = (this.#samples.get(from) ?? []).filter(({ index }) => index !== sample.index);
    others.push(sample);
    this.#samples.set(from, others.slice(-SAMPLES_KEPT));
  }

  /** Once per tick: tells the leader; as leader returns a command for the log, if one is due. */
  tick(): Uint8Array | undefined {
    const { raft, options, leads } = this.#loop;
    if (options.hashCheck === undefined || this.#own === undefined) return undefined;
    if (!leads) {
      this.#tell(raft.leader, this.#own);
      return undefined;
    }
    const agreed = this.#agreed();
    if (agreed === undefined) return undefined;
    this.#checkedIndex = agreed.index;
    return options.hashCheck(agreed.index, agreed.hash);
  }

  #tell(leader: MemberId, own: StateHash): void {
    if (leader === NO_MEMBER || !this.#loop.isLinked(leader)) return;
    const told = `${leader} ${this.#loop.linkOf(leader)} ${own.index} ${own.hash}`;
    if (told === this.#told) return;
    this.#told = told;
    this.#loop.outbox.add(leader, own);
  }

  /** The newest index, not checked yet, for which one hash has a majority. */
  #agreed(): StateHash | undefined {
    const { configuration } = this.#loop;
    for (const { index } of this.#own === undefined ? [] : this.#indexes()) {
      const hashes = this.#hashesAt(index);
      for (const hash of new Set(hashes.values())) {
        if (isMajority(configuration, (id) => hashes.get(id) === hash)) {
          return { kind: 'state-hash', index, hash };
        }
      }
      this.#dispute(index, hashes, configuration);
    }
    return undefined;
  }

  #indexes(): StateHash[] {
    const own = this.#samples.get(this.#loop.settings.member) ?? [];
    return own.filter(({ index }) => index > this.#checkedIndex).reverse();
  }

  #hashesAt(wanted: number): Map<MemberId, string> {
    const hashes = new Map<MemberId, string>();
    for (const [member, samples] of this.#samples) {
      const sample = samples.find(({ index }) => index === wanted);
      if (sample !== undefined) hashes.set(member, sample.hash);
    }
    return hashes;
  }

  /** No hash can have a majority any more: nobody can say who is wrong, so nobody is stopped. */
  #dispute(index: number, hashes: Map<MemberId, string>, configuration: Configuration): void {
    if (index <= this.#disputedIndex) return;
    for (const hash of new Set(hashes.values())) {
      if (isMajority(configuration, (id) => (hashes.get(id) ?? hash) === hash)) return;
    }
    this.#disputedIndex = index;
    const said = [...hashes].map(([id, hash]) => `member ${id} has ${hash}`).join(', ');
    mark('state hashes in dispute');
    this.#loop.options.log?.(
      `STATE DIVERGES at index ${index} and no majority agrees: ${said}; nobody is stopped`,
    );
  }
}

/** True when a majority of voters, of both halves, is counted. */
function isMajority(configuration: Configuration, counts: (id: MemberId) => boolean): boolean {
  return [configuration.voters, configuration.votersOutgoing].every(
    (voters) => voters.length === 0 || voters.filter(counts).length * 2 > voters.length,
  );
}
