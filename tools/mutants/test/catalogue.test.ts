import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { transformSync } from 'esbuild';
import { describe, expect, it } from 'vitest';
import { CANDIDATES } from '../src/catalogue/candidates.ts';
import { MUTANTS } from '../src/catalogue.ts';
import { applyEdits } from '../src/mutant.ts';

const ALL = [...MUTANTS, ...CANDIDATES];
const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

describe('the mutants', () => {
  it('have names of their own', () => {
    const names = ALL.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    for (const name of names) expect(name).toMatch(/^[a-z0-9-]+$/);
  });

  it.each(ALL.map((mutant) => [mutant.name, mutant] as const))(
    'can be applied to the present tree: %s',
    (_name, mutant) => {
      for (const file of new Set(mutant.edits.map((edit) => edit.file))) {
        const text = readFileSync(join(ROOT, file), 'utf8');
        const changed = applyEdits(mutant, file, text);
        expect(changed).not.toBe(text);
        transformSync(changed, { loader: 'ts' });
      }
    },
  );

  it('are refused when a text to find occurs twice or not at all', () => {
    const edits = [{ file: 'a.ts', find: 'x  = 1', replace: 'x = 2' }];
    const mutant = { name: 'm', title: '', catalogue: '', edits };
    expect(applyEdits(mutant, 'a.ts', 'x = 1;')).toBe('x = 2;');
    expect(() => applyEdits(mutant, 'a.ts', 'x = 1; x = 1;')).toThrow('mutant m: in a.ts');
    expect(() => applyEdits(mutant, 'a.ts', 'y = 1;')).toThrow('0 times');
  });
});
