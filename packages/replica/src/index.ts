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
  isPeerAddress,
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

export { isLedByAnother, levelRefusal, peerRefusal } from './peer-identity.ts';

export { type Refounded, type RefoundOptions, refound } from './refound.ts';
export { type MemberReplica, openReplica } from './replica.ts';
