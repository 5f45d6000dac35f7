import type { Operation } from './operation.ts';
import { describe } from './words.ts';

/** What no correct cluster could have answered: why, and the few operations that show it. */
export interface Violation {
  readonly why: string;
  readonly operations: readonly Operation[];
}

/** What one checker found. Without violations the check holds. */
export interface Verdict {
  readonly check: string;
  /** How many operations were judged; 0 says that the history had nothing for this check. */
  readonly judged: number;
  readonly violations: readonly Violation[];
  /** What the checker could not decide, in words. */
  readonly undecided: readonly string[];
}

/** More of the same would only hide the first. */
const TOLD_MAX = 5;

/** The verdict as lines for people. */
export function tell(verdict: Verdict): string[] {
  const { check, judged, violations, undecided } = verdict;
  const word = violations.length > 0 ? 'VIOLATED' : judged === 0 ? 'nothing to judge' : 'ok';
  const count = judged === 0 ? '' : `, ${judged.toLocaleString('en')} operations`;
  const lines = [`${check}: ${word}${count}`];
  for (const { why, operations } of violations.slice(0, TOLD_MAX)) {
    lines.push(`  ${why}`, ...operations.map((operation) => `    ${describe(operation)}`));
  }
  if (violations.length > TOLD_MAX) lines.push(`  and ${violations.length - TOLD_MAX} more`);
  lines.push(...undecided.map((what) => `  undecided: ${what}`));
  return lines;
}
