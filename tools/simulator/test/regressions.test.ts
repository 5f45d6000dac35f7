import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { optionsOf, readReplay, runSeed } from '../src/index.ts';

const FOLDER = fileURLToPath(new URL('../regressions', import.meta.url));

describe('a run that once broke a promise', () => {
  for (const name of readdirSync(FOLDER).sort()) {
    if (!name.endsWith('.json')) continue;
    const replay = readReplay(`${FOLDER}/${name}`);
    it(`keeps it now: ${name}, ${replay.note}`, { timeout: 120_000 }, () => {
      const { violation } = runSeed(optionsOf(replay));
      const command = `npm run simulate -- --replay tools/simulator/regressions/${name} --verbose`;
      expect(violation, command).toBe(undefined);
    });
  }
});
