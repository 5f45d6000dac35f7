export { listRedisLocks } from './commands/lock-list.ts';
export { redisKeyspaces, scriptKeyspace } from './keyspaces.ts';
export { type RedisDoor, type RedisDoorOptions, startRedisDoor } from './listener.ts';
export {
  encodeEndConnection,
  encodeTransaction,
  encodeWords,
  redisExtension,
} from './procedures.ts';
export type { RedisValue } from './value.ts';
