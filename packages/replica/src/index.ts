export { readConfiguration } from './configuration-format.ts';
export * from './contract.ts';
export { LocalImage } from './local-image.ts';
export {
  createLocalReplica,
  type LocalReplica,
  type LocalReplicaOptions,
} from './local-replica.ts';
export {
  type ChangeRefusal,
  changeMembership,
  type MembershipChange,
  type MembershipResult,
  newEtcdId,
} from './membership-change.ts';
export {
  DEFAULT_TUNING,
  type MemberDirectory,
  type ReplicaOptions,
  type Tuning,
} from './options.ts';
<<<<<<< HEAD

export { levelRefusal, peerRefusal } from './peer-identity.ts';

=======
export { directoryRefusal, levelRefusal } from './peer-identity.ts';
export { type Refounded, type RefoundOptions, refound } from './refound.ts';
>>>>>>> f26b3f4 (lockstep recover: a survivor becomes a cluster of its own after a majority was lost for ever)
export { type MemberReplica, openReplica } from './replica.ts';
