import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Every coverage mark there is in the sources of the packages, sorted. A mark's name is a literal
 * string, so that this can be a search. Empty where the sources are not at hand.
 */
export function markCatalogue(root: string): string[] {
  const names = new Set<string>();
  const packages = join(root, 'packages');
  if (!existsSync(packages)) return [];
  for (const name of readdirSync(packages)) {
    const sources = join(packages, name, 'src');
    if (!existsSync(sources)) continue;
    for (const file of readdirSync(sources, { recursive: true, encoding: 'utf8' })) {
      if (!file.endsWith('.ts')) continue;
      const text = readFileSync(join(sources, file), 'utf8');
      for (const match of text.matchAll(/\bmark\(\s*'([^']+)'/g)) names.add(match[1]!);
    }
  }
  return [...names].sort();
}
