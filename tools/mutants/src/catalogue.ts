import { ELECTIONS } from './catalogue/elections.ts';
import type { Mutant } from './mutant.ts';

/** All mutants, in the order of the table. */
export const MUTANTS: readonly Mutant[] = [...ELECTIONS];
