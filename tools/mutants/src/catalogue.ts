import { COMMANDS } from './catalogue/commands.ts';
import { DOORS } from './catalogue/doors.ts';
import { ELECTIONS } from './catalogue/elections.ts';
import { LOCKS } from './catalogue/locks.ts';
import { LOG_MUTANTS } from './catalogue/log.ts';
import { MEMBERSHIP } from './catalogue/membership.ts';
import { READS } from './catalogue/reads.ts';
import { SNAPSHOTS } from './catalogue/snapshots.ts';
import { STORAGE } from './catalogue/storage.ts';
import { TIME } from './catalogue/time.ts';
import type { Mutant } from './mutant.ts';

/** All mutants, in the order of the table. */
export const MUTANTS: readonly Mutant[] = [
  ELECTIONS,
  LOG_MUTANTS,
  READS,
  MEMBERSHIP,
  SNAPSHOTS,
  STORAGE,
  TIME,
  COMMANDS,
  LOCKS,
  DOORS,
].flat();
