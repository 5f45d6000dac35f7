import { describe, expect, it } from 'vitest';
import { withTable } from '../src/table.ts';

const MARKS = [
  '<!-- mutants: begin, written by `npm run mutants` -->',
  '<!-- mutants: end -->',
] as const;
const MUTANTS = ['one', 'two'].map((name) => ({ name, title: name, catalogue: 'E-1', edits: [] }));

describe('the table of kills', () => {
  const kills = new Map([['one', { seed: 7, invariant: 'ElectionSafety', cpuSeconds: 1.25 }]]);
  const text = `before\n${MARKS[0]}\nold\n${MARKS[1]}\nafter`;

  it('names seed, invariant and time of a kill, and says who survives', () => {
    const table = withTable(text, MUTANTS, kills);
    expect(table).toContain('| `one` | one | E-1 | ElectionSafety | 7 | 1.3 s |');
    expect(table).toContain('| `two` | two | E-1 | **survives** | – | – |');
    expect(table).toContain('1 of 2 killed');
    expect(table).not.toContain('old');
  });

  it('is written over the former one and leaves the rest of the page alone', () => {
    const once = withTable(text, MUTANTS, kills);
    expect(withTable(once, MUTANTS, kills)).toBe(once);
    expect(once).toMatch(/^before\n/);
    expect(once).toMatch(/\nafter$/);
  });
});
