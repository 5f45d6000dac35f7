export * from './contract.ts';
export { CHECK_BYTES, Table } from './image.ts';
export {
  type AcquireOutcome,
  type AcquireRequest,
  acquireLock,
  cancelLockWaiters,
  extendLock,
  forceLock,
  type LockInfo,
  lockInfo,
  lockQueue,
  mayTake,
  type ReleaseOutcome,
  releaseLock,
} from './lock/lock-table.ts';
export { LOCK_WAITER_KIND, type LockClaim, type LockGrant } from './lock/lock-waiter.ts';
export { createStateMachine } from './machine.ts';
export { RECORD_OVERHEAD_BYTES } from './record.ts';
export { IMAGE_FORMAT } from './store.ts';
export { FEATURE_LEVEL, FEATURE_LEVEL_OLDEST } from './system/feature-level.ts';
export { encodeHello, type Hello, type HelloOutcome } from './system/hello.ts';
export {
  type AddMember,
  encodeAddMember,
  encodeRemoveMember,
  encodeUpdateMember,
  MEMBERSHIP_LEVEL,
  type MembershipOutcome,
  type UpdateMember,
} from './system/membership.ts';
export {
  addRefusal,
  hasStarted,
  LEARNERS_MAX,
  type MembershipRefusal,
  promoteRefusal,
  removeRefusal,
  updateRefusal,
} from './system/membership-rules.ts';
export { acceptedValues, acceptsOption } from './system/option-range.ts';
export {
  ELECTION_TIMEOUT_OPTION,
  LOCK_BARGING_OPTION,
  PREFERRED_LEADERS_OPTION,
  TRANSACTION_STEPS_OPTION,
} from './system/option-table.ts';
export {
  encodeAdvanceRevision,
  encodeCheckHash,
  encodeRaiseFeatureLevel,
  encodeReleaseWaiter,
  encodeSetOption,
  type SetOptionOutcome,
} from './system/procedures.ts';
export { encodeRefound, REFOUND_REVISIONS, type Refound } from './system/refound.ts';
