import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { TRIGGERS } from '../src/faults/script.ts';
import { markCatalogue } from '../src/mark-catalogue.ts';

const catalogue = markCatalogue(fileURLToPath(new URL('../../..', import.meta.url)));

describe('coverage marks', () => {
  it('are found in the sources', () => {
    expect(catalogue).toContain('became leader');
    expect(catalogue.length).toBeGreaterThan(30);
  });

  it('exist where the nemesis waits for them', () => {
    expect(TRIGGERS.filter((name) => !catalogue.includes(name))).toEqual([]);
  });
});
