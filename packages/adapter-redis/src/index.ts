export { commandTable } from './command-table.ts';
export { listRedisLocks } from './commands/lock-list.ts';
export { RedisDoorCore } from './door.ts';
export { redisKeyspaces, scriptKeyspace } from './keyspaces.ts';
export { type RedisDoor, type RedisDoorOptions, startRedisDoor } from './listener.ts';
export { DOOR as REDIS_DOOR, notifyKeyspaceEvents, type RedisDoorEvent } from './notification.ts';
export {
  encodeEndConnection,
  encodeTransaction,
  encodeWords,
  redisExtension,
} from './procedures.ts';
export type { RedisValue } from './value.ts';
