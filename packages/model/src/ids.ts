/** Raft id of a member: a small positive integer from a replicated counter, never reused. */
export type MemberId = number;
/** Start counter of a member's process life, fsynced before use; only grows. */
export type Incarnation = number;
/** Number a member gives its commands; 1, 2, 3 … within one incarnation, never skipped. */
export type Sequence = number;
/** Raft log position and election period; safe integers, 0 means none. */
export type Index = number;
export type Term = number;
/** The one counter of the store (design §5). 1 in a fresh store. Also the fencing token. */
export type Revision = number;
export type Token = Revision;
/** Milliseconds of cluster time: from the log, never from a clock; never decreases. */
export type ClusterTimeMs = number;
/** Milliseconds of wall time carried by an entry: data only, may step back. */
export type WallTimeMs = number;

export const NO_MEMBER: MemberId = 0;
