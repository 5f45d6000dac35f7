import type { Replica, ReplicaStatus } from '@lockstep/replica';

/** One member's view of itself. */
export interface MemberStatus extends ReplicaStatus {
  readonly id: number;
  readonly name: string;
  readonly version: string;
  readonly clusterId: string;
  readonly stateHash: string;
  /** What the cluster may write (design §2), as this member knows it. */
  readonly featureLevel: number;
  readonly liveBytes: number;
  readonly addresses: Readonly<Record<string, string>>;
}

/** What `/status` answers: the member asked, and who else there is to ask. */
export interface ClusterStatus {
  readonly self: MemberStatus;
  readonly members: readonly {
    readonly id: number;
    readonly name: string;
    readonly admin: string;
    readonly learner: boolean;
    /** As of the member's last start; '' and 0 before the first. */
    readonly version: string;
    readonly featureLevel: number;
  }[];
}

/** Local state only: answers with or without a quorum. */
export function clusterStatus(replica: Replica, version: string): ClusterStatus {
  const { state } = replica;
  const members = state.members();
  const own = members.find((member) => member.id === replica.member);
  return {
    self: {
      ...replica.status(),
      id: replica.member,
      name: own?.name ?? '',
      version,
      clusterId: state.clusterId.toString(16).padStart(16, '0'),
      stateHash: state.stateHash(),
      featureLevel: state.featureLevel,
      liveBytes: state.liveBytes,
      addresses: own?.addresses ?? {},
    },
    members: members.map(({ id, name, addresses, learner, ...record }) => ({
      id,
      name,
      admin: addresses.admin ?? '',
      learner,
      version: record.version,
      featureLevel: record.featureLevel,
    })),
  };
}
