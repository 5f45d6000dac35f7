import type { MemberId, Term } from '@lockstep/model';
import type { HardState } from '@lockstep/raft';
import type { SimNode } from '../node.ts';
import type { World } from '../world.ts';

/**
 * ElectionQuorum: whoever leads a term has a quorum's votes for that term on disk, its own too,
 * since a vote that is not durable could be given again (Raft §5.2; reference raft.md §2.2).
 */
export class Ballots {
  readonly #world: World;
  /** Votes that were ever durable, by term. */
  readonly #votes = new Map<Term, Map<MemberId, MemberId>>();

  constructor(world: World) {
    this.#world = world;
  }

  /** A member's hard state is durable. */
  durable(voter: MemberId, { term, vote }: HardState): void {
    if (vote === 0) return;
    const votes = this.#votes.get(term);
    if (votes === undefined) this.#votes.set(term, new Map([[voter, vote]]));
    else votes.set(voter, vote);
  }

  /** The node has begun to lead; the configuration that it knows is the one that elected it. */
  leads(node: SimNode, term: Term): void {
    const configuration = node.replica?.raft.status().configuration;
    if (configuration === undefined) return;
    const votes = this.#votes.get(term);
    const isMajority = (voters: readonly MemberId[]): boolean =>
      voters.length === 0 ||
      voters.filter((id) => votes?.get(id) === node.id).length * 2 > voters.length;
    const { voters, votersOutgoing } = configuration;
    if (isMajority(voters) && isMajority(votersOutgoing)) return;
    const given = [...(votes ?? [])].map(([voter, vote]) => `${voter} for ${vote}`).join(', ');
    const what = `votes on disk: ${given || 'none'}`;
    this.#world.fail('ElectionQuorum', `member ${node.id} leads term ${term}; ${what}`);
  }
}
