import type { FileSystem, Network } from '@lockstep/model';
import type { MemberReplica, Replica } from '@lockstep/replica';
import type { StateMachine } from '@lockstep/state-machine';
import type { OpenLog } from '@lockstep/storage';

/**
 * Places where a test puts a component with a known defect around or instead of the right one, to
 * prove that the invariants notice. Left out: the production code as it is.
 */
export interface Defects {
  readonly log?: (open: OpenLog, node: number) => OpenLog;
  readonly machine?: (machine: StateMachine, node: number) => StateMachine;
  readonly replica?: (replica: MemberReplica, node: number) => MemberReplica;
  /** What the doors of a member are given. */
  readonly door?: (replica: Replica, node: number) => Replica;
  readonly files?: (files: FileSystem, node: number) => FileSystem;
  readonly network?: (network: Network, node: number) => Network;
}
