import { LockstepError } from '@lockstep/model';

/** The member was removed, or its place is taken by another directory: no restart will help. */
export const EXIT_NOT_A_MEMBER = 3;

/** Exit code that tells supervisors not to start this member again; undefined for other errors. */
export function exitCodeOf(error: unknown): number | undefined {
  if (!(error instanceof LockstepError)) return undefined;
  const { code } = error;
  const gone = code === 'MEMBER_REMOVED' || code === 'MEMBER_HAS_OTHER_DIRECTORY';
  return gone ? EXIT_NOT_A_MEMBER : undefined;
}
