import {
  BinaryWriter,
  type Clock,
  LIMITS,
  type LockstepError,
  type Random,
  type Scheduler,
  writeCommandHead,
} from '@lockstep/model';
import type { BarrierWaiter, CommandWaiter, Replica } from '@lockstep/replica';
import type { CommandOutcome, MemberRecord } from '@lockstep/state-machine';
import { ETCD_ERRORS, type EtcdErrorName, etcdErrorOf } from './errors.ts';
import type { ResponseHeader } from './gen/rpc.ts';
import type { Failure } from './procedures/outcome.ts';
import { type Done, type RpcError, rpcError } from './session.ts';
import type { WatchHub } from './watch/hub.ts';

/** What etcd sets by flags and a client can notice; defaults are those of etcd 3.6. */
export interface EtcdDoorSettings {
  /** Reported by Status and /version; clients switch features on by it. */
  readonly version: string;
  readonly requestBytesMax: number;
  readonly txnOperationsMax: number;
  readonly electionTimeoutMs: number;
  readonly watchProgressIntervalMs: number;
  /** Reported by Status. */
  readonly quotaBytes: number;
}

export const DEFAULT_SETTINGS: EtcdDoorSettings = {
  version: '3.6.14',
  requestBytesMax: LIMITS.commandBytesMaxEtcd,
  txnOperationsMax: 128,
  electionTimeoutMs: 1000,
  watchProgressIntervalMs: 600_000,
  quotaBytes: 2 * 1024 * 1024 * 1024,
};

export interface DoorPorts {
  readonly clock: Clock;
  readonly random: Random;
  readonly scheduler: Scheduler;
}

/** What the services of one member's etcd door share. */
export class Door {
  readonly replica: Replica;
  readonly ports: DoorPorts;
  readonly settings: EtcdDoorSettings;
  readonly hub: WatchHub;
  /** Open streams, which end only when somebody ends them. */
  readonly streams = new Set<{ end(error?: RpcError): void }>();
  readonly #writer = new BinaryWriter(4096);
  #record: MemberRecord | undefined;

  constructor(replica: Replica, ports: DoorPorts, settings: EtcdDoorSettings, hub: WatchHub) {
    this.replica = replica;
    this.ports = ports;
    this.settings = settings;
    this.hub = hub;
  }

  /** This member's record. A voter's is kept: its id never changes and it is never demoted. */
  get #member(): MemberRecord | undefined {
    if (this.#record === undefined || this.#record.learner) {
      const { member, state } = this.replica;
      this.#record = state.members().find((record) => record.id === member);
    }
    return this.#record;
  }

  get memberId(): bigint {
    return this.#member?.etcdId ?? 0n;
  }

  get isLearner(): boolean {
    return this.#member?.learner ?? false;
  }

  get hasLeader(): boolean {
    return this.replica.status().leader !== 0;
  }

  /** A header at the present, or naming another revision. */
  header(revision = this.replica.state.revision): ResponseHeader {
    const { state } = this.replica;
    return {
      clusterId: state.clusterId,
      memberId: this.memberId,
      revision,
      raftTerm: state.appliedTerm,
    };
  }

  /** Starts a command; append the arguments to the writer, then `submit`. */
  command(procedure: number): BinaryWriter {
    return writeCommandHead(this.#writer, procedure, 1);
  }

  /** Proposes what the writer of `command` holds, unless it is larger than a request may be. */
  submit(writer: BinaryWriter, waiter: CommandWaiter, refused: Done<never>): void {
    const size = writer.length;
    // Held until it is applied: soon enough to be cut from the pool.
    const command = writer.pooledCopy();
    if (size > this.settings.requestBytesMax) refused(rpcError('REQUEST_TOO_LARGE'));
    else this.replica.submit(command, waiter);
  }

  /** Runs `reached` once local state holds all that was committed before this call. */
  barrier(
    reached: (times: { readonly clusterMs: number; readonly wallMs: number }) => void,
    failed: (error: RpcError) => void,
  ): void {
    const waiter: BarrierWaiter = {
      reached,
      failed: (error) => failed(rpcError(etcdErrorOf(error))),
    };
    this.replica.barrier(waiter);
  }
}

/**
 * Waits for one command and answers the client inside the call-back, so that the header's
 * revision is the one right after the command.
 */
export class CommandReply<R extends { readonly kind: string }, S> implements CommandWaiter {
  readonly #done: Done<S>;
  readonly #answer: (result: R, done: Done<S>) => void;

  constructor(done: Done<S>, answer: (result: R, done: Done<S>) => void) {
    this.#done = done;
    this.#answer = answer;
  }

  applied(outcome: CommandOutcome): void {
    if (outcome.kind === 'void') {
      this.#done(rpcError(voidError(outcome.reason)));
      return;
    }
    const result = outcome.result as R | Failure;
    if (isFailure(result)) this.#done(ETCD_ERRORS[result.error]);
    else this.#answer(result, this.#done);
  }

  failed(error: LockstepError): void {
    this.#done(rpcError(etcdErrorOf(error)));
  }
}

function isFailure(result: { readonly kind: string }): result is Failure {
  return result.kind === 'failure';
}

/** A void command was not applied at its place; a duplicate was applied at another one. */
function voidError(reason: string): EtcdErrorName {
  if (reason === 'budget') return 'TOO_MANY_OPERATIONS';
  return reason === 'duplicate' ? 'TIMED_OUT' : 'LEADER_CHANGED';
}
