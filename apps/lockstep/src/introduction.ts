import type { MemberId } from '@lockstep/model';
import type { MemberReplica } from '@lockstep/replica';
import { withDeadline } from './deadline.ts';

/** What a member tells whoever asks at its peer listener, before any link: `GET /members`. */
export interface ClusterDescription {
  /** 64-bit cluster id as 16 hex digits, and the token it was formed with. */
  readonly cluster: string;
  readonly token: string;
  readonly members: readonly DescribedMember[];
  /** Removed for good, and in no configuration any more. */
  readonly removed: readonly MemberId[];
  readonly voters: readonly MemberId[];
}

export interface DescribedMember {
  readonly id: MemberId;
  /** '' before it has started. */
  readonly name: string;
  readonly peerAddress: string;
  readonly learner: boolean;
  /** '' before its first hello bound it to one. */
  readonly dataDirectory: string;
}

/** What this member knows, with or without a quorum. */
export function describeCluster(
  replica: MemberReplica,
  cluster: string,
  token: string,
): ClusterDescription {
  const { state } = replica;
  const { voters, votersOutgoing, learners } = replica.status().configuration;
  const present = new Set([...voters, ...votersOutgoing, ...learners]);
  return {
    cluster,
    token,
    members: state.members().map(({ id, name, peerAddress, learner, dataDirectory }) => ({
      ...{ id, name, peerAddress, learner, dataDirectory },
    })),
    removed: state
      .removedMembers()
      .map(({ id }) => id)
      .filter((id) => !present.has(id)),
    voters,
  };
}

const ANSWER_MS_MAX = 1000;

/** The descriptions of those that answer within a second, in the order of the addresses. */
export async function askPeers(addresses: readonly string[]): Promise<ClusterDescription[]> {
  const answers = await Promise.all(addresses.map(askPeer));
  return answers.filter((answer) => answer !== undefined);
}

async function askPeer(address: string): Promise<ClusterDescription | undefined> {
  try {
    const answer = await withDeadline(ANSWER_MS_MAX, async (signal) => {
      const response = await fetch(`http://${address}/members`, { signal });
      return response.ok ? ((await response.json()) as ClusterDescription | null) : null;
    });
    // A member that is still opening its log has nothing to say yet.
    return answer === null || !Array.isArray(answer.members) ? undefined : answer;
  } catch {
    return undefined;
  }
}
