export * from './contract.ts';
export { LocalImage } from './local-image.ts';
export {
  createLocalReplica,
  type LocalReplica,
  type LocalReplicaOptions,
} from './local-replica.ts';
