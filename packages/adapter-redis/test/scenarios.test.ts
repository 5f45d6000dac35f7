import { readdirSync, readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type OpenDoor, openDoor } from './open-door.ts';
import { runScenario } from './scenario.ts';

const folder = new URL('./scenarios/', import.meta.url);

describe('a scenario file shows every reply byte for byte', () => {
  let door: OpenDoor;

  beforeEach(async () => {
    door = await openDoor();
  });

  afterEach(() => door.close());

  for (const file of readdirSync(folder)) {
    it(file, async () => {
      const text = readFileSync(new URL(file, folder), 'utf8').replace(/\n+$/, '');
      expect(await runScenario(text, door)).toBe(text);
    });
  }
});
