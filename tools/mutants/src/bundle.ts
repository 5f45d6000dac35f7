import { readFileSync } from 'node:fs';
import { relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type Plugin } from 'esbuild';
import { applyEdits, type Mutant } from './mutant.ts';

/** Root of the repository. */
export const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/** Packages of the workspace are bundled from their sources; those of others are imported. */
const foreignPackages: Plugin = {
  name: 'foreign packages',
  setup: ({ onResolve }) => {
    onResolve({ filter: /^[^./]/ }, ({ path, kind }) =>
      kind === 'entry-point' || path.startsWith('@lockstep/') ? undefined : { external: true },
    );
  },
};

/** The copy of the tree that has the defect: files are edited on their way into the bundle. */
function editing(mutant: Mutant, edited: Set<string>): Plugin {
  const files = new Set(mutant.edits.map((edit) => edit.file));
  return {
    name: `mutant ${mutant.name}`,
    setup: ({ onLoad }) => {
      onLoad({ filter: /\.ts$/ }, ({ path }) => {
        const file = relative(ROOT, path).split(sep).join('/');
        if (!files.has(file)) return undefined;
        edited.add(file);
        return { contents: applyEdits(mutant, file, readFileSync(path, 'utf8')), loader: 'ts' };
      });
    },
  };
}

/**
 * Writes the simulator with the hunt as its main program to one file, made from the sources as
 * they are now and, with a mutant, from its edits. Nothing has to be built before.
 *
 * @throws Error when an edit does not apply, or concerns a file that the simulator does not run.
 */
export async function bundle(outfile: string, mutant: Mutant | undefined): Promise<void> {
  const edited = new Set<string>();
  await build({
    entryPoints: [fileURLToPath(new URL('../src/hunt.ts', import.meta.url))],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    conditions: ['@lockstep/source'],
    plugins: [foreignPackages, ...(mutant === undefined ? [] : [editing(mutant, edited)])],
    logLevel: 'silent',
  });
  for (const { file } of mutant?.edits ?? []) {
    if (!edited.has(file))
      throw new Error(`mutant ${mutant?.name}: nothing simulated uses ${file}`);
  }
}
