import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { runScenario } from './scenario-runner.ts';

const folder = join(import.meta.dirname, 'scenarios');

// `REWRITE_SCENARIOS=1` writes what happens now into the files: read the difference.
const rewrite = process.env.REWRITE_SCENARIOS !== undefined;

describe('a scenario', () => {
  for (const name of readdirSync(folder).filter((file) => file.endsWith('.txt'))) {
    test(name.replace('.txt', '').replaceAll('-', ' '), () => {
      const path = join(folder, name);
      const text = readFileSync(path, 'utf8');
      const output = runScenario(text);
      if (rewrite) writeFileSync(path, output);
      else expect(output).toBe(text);
    });
  }
});
