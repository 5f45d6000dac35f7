import type { Door } from '../door.ts';
import { ETCD_ERRORS } from '../errors.ts';
import {
  type AlarmRequest,
  AlarmRequest_AlarmAction,
  type AlarmResponse,
  AlarmType,
  type DefragmentResponse,
  type DowngradeResponse,
  type MoveLeaderRequest,
  type MoveLeaderResponse,
  type StatusRequest,
  type StatusResponse,
} from '../gen/rpc.ts';
import { type Call, type Done, rpcError, UNIMPLEMENTED } from '../session.ts';

/** The Maintenance service: what operators ask of one member. */
export class MaintenanceService {
  readonly #door: Door;

  constructor(door: Door) {
    this.#door = door;
  }

  /** Local: answers without a quorum. */
  status(_request: StatusRequest, _call: Call, done: Done<StatusResponse>): void {
    const door = this.#door;
    const status = door.replica.status();
    const { state } = door.replica;
    const leader = state.members().find((record) => record.id === status.leader);
    const { version, quotaBytes } = door.settings;
    done(undefined, {
      header: { ...door.header(), raftTerm: status.term },
      version,
      // Clients divide by it, so an empty store has a byte.
      dbSize: Math.max(1, status.imageBytes, state.liveBytes),
      leader: leader?.etcdId ?? 0n,
      raftIndex: status.commitIndex,
      raftTerm: status.term,
      raftAppliedIndex: status.appliedIndex,
      errors: leader === undefined ? [ETCD_ERRORS.NO_LEADER.message] : [],
      dbSizeInUse: Math.max(1, state.liveBytes),
      isLearner: door.isLearner,
      storageVersion: `${version.split('.').slice(0, 2).join('.')}.0`,
      dbSizeQuota: quotaBytes,
      downgradeInfo: { enabled: false, targetVersion: '' },
    });
  }

  /** No alarm is ever raised here: the quota clears itself, a corrupt member stops. */
  alarm(request: AlarmRequest, _call: Call, done: Done<AlarmResponse>): void {
    const raises = request.action === AlarmRequest_AlarmAction.ACTIVATE;
    if (raises && request.alarm !== AlarmType.NONE) {
      done(UNIMPLEMENTED);
      return;
    }
    done(undefined, { header: this.#door.header(), alarms: [] });
  }

  /** The image store compacts itself in the background, so there is nothing left to do. */
  defragment(_request: unknown, _call: Call, done: Done<DefragmentResponse>): void {
    done(undefined, { header: undefined });
  }

  moveLeader(request: MoveLeaderRequest, _call: Call, done: Done<MoveLeaderResponse>): void {
    const { replica } = this.#door;
    if (replica.status().role !== 'leader') {
      done(rpcError('NOT_LEADER'));
      return;
    }
    const target = replica.state.members().find(({ etcdId }) => etcdId === request.targetID);
    if (target === undefined || target.learner) {
      done(rpcError('BAD_LEADER_TRANSFEREE'));
      return;
    }
    if (target.id === replica.member) {
      done(undefined, { header: undefined });
      return;
    }
    replica.transferLeadership(target.id, (error) => {
      if (error !== undefined) done(rpcError('TRANSFER_TIMED_OUT'));
      else done(undefined, { header: undefined });
    });
  }

  downgrade(_request: unknown, _call: Call, done: Done<DowngradeResponse>): void {
    done(rpcError('INVALID_DOWNGRADE_VERSION'));
  }

  refuse(_request: unknown, _call: Call, done: Done<never>): void {
    done(UNIMPLEMENTED);
  }
}
