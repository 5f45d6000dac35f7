/** Version that clients gate on (`reference/redis.md` §2.1); the commands of 8.4 work as well. */
export const REPORTED_VERSION = '7.2.4';
/** Our own, in INFO as `lockstep_version`. */
export const LOCKSTEP_VERSION = '0.1.0';
