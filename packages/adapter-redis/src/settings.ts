import type { ByteString } from '@lockstep/model';

/** What CONFIG GET shows of a fresh door: the directives clients ask for, with our fixed values. */
export function initialSettings(port: number): Map<string, string> {
  return new Map([
    ['appendfsync', 'always'],
    ['appendonly', 'yes'],
    ['bind', '127.0.0.1'],
    ['busy-reply-threshold', '5000'],
    ['client-output-buffer-limit', 'normal 0 0 0 pubsub 8388608 0 0'],
    ['client-query-buffer-limit', '8388608'],
    ['databases', '16'],
    ['dir', '.'],
    ['hash-max-listpack-entries', '128'],
    ['hash-max-listpack-value', '64'],
    ['hz', '10'],
    ['lazyfree-lazy-eviction', 'no'],
    ['lazyfree-lazy-expire', 'no'],
    ['list-max-listpack-size', '-2'],
    ['lua-time-limit', '5000'],
    ['maxclients', '10000'],
    ['maxmemory', '0'],
    ['maxmemory-policy', 'noeviction'],
    ['port', String(port)],
    ['proto-max-bulk-len', '4194304'],
    ['replica-read-only', 'yes'],
    ['save', ''],
    ['set-max-intset-entries', '512'],
    ['slave-read-only', 'yes'],
    ['tcp-keepalive', '300'],
    ['timeout', '0'],
    ['zset-max-listpack-entries', '128'],
    ['zset-max-listpack-value', '64'],
  ]);
}

/** The replicated directive (`notification.ts`). */
export const NOTIFY_DIRECTIVE = 'notify-keyspace-events';

/** Tuning of Redis' own inner life: tools set it and give up on an error, so that it is taken
 * and shown again, and changes nothing (`reference/redis.md` §8). */
const TUNING = /^(.*-max-(listpack|ziplist|intset)-.*|lazyfree-.*|hz|dynamic-hz|activerehashing)$/;

export function isTuning(directive: ByteString): boolean {
  return TUNING.test(directive);
}
