import { fork } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundle, ROOT } from './bundle.ts';
import type { Catch, Miss } from './hunt.ts';
import type { Mutant } from './mutant.ts';

export interface Range {
  readonly first: number;
  readonly last: number;
  readonly cpuSeconds: number;
}

/** Builds mutants in a scratch directory and sets the simulator on them, each in its process. */
export class Hunter {
  readonly #directory = mkdtempSync(join(tmpdir(), 'lockstep-mutants-'));
  /** Whether the tree as it is fails at a seed: such a seed proves nothing about a mutant. */
  readonly #failing = new Map<number, Promise<boolean>>();
  #clean: Promise<string> | undefined;

  constructor() {
    symlinkSync(join(ROOT, 'node_modules'), join(this.#directory, 'node_modules'));
  }

  close(): void {
    rmSync(this.#directory, { recursive: true, force: true });
  }

  /** Searches the range for a seed that fails because of the mutant. */
  async hunt(mutant: Mutant, range: Range): Promise<Catch | Miss> {
    const file = await this.#bundle(mutant);
    let spent = 0;
    let seeds = 0;
    let { first } = range;
    for (;;) {
      const left = { ...range, first, cpuSeconds: range.cpuSeconds - spent };
      const found = await run(file, left, mutant.killedBy);
      spent += found.cpuSeconds;
      if (found.kind === 'missed') {
        return { kind: 'missed', seeds: seeds + found.seeds, cpuSeconds: spent };
      }
      if (isBroken(found)) throw new Error(`mutant ${mutant.name} does not run: ${found.message}`);
      if (!(await this.#failsAnyway(found.seed))) return { ...found, cpuSeconds: spent };
      seeds += found.seed - first;
      first = found.seed + 1;
    }
  }

  #failsAnyway(seed: number): Promise<boolean> {
    const known = this.#failing.get(seed);
    if (known !== undefined) return known;
    this.#clean ??= this.#bundle(undefined);
    const once = { first: seed, last: seed, cpuSeconds: Number.POSITIVE_INFINITY };
    const answer = this.#clean
      .then((file) => run(file, once))
      .then((result) => {
        if (result.kind === 'missed') return false;
        console.log(`seed ${seed} fails without any mutant: ${result.invariant}`);
        return true;
      });
    this.#failing.set(seed, answer);
    return answer;
  }

  async #bundle(mutant: Mutant | undefined): Promise<string> {
    const file = join(this.#directory, `${mutant?.name ?? 'none'}.mjs`);
    await bundle(file, mutant);
    return file;
  }
}

/** A slip in the text of a mutant is no defect that the simulator could be praised for. */
function isBroken({ message }: Catch): boolean {
  return /ReferenceError|SyntaxError|is not a function/.test(message);
}

function run(
  file: string,
  { first, last, cpuSeconds }: Range,
  invariants: readonly string[] = [],
): Promise<Catch | Miss> {
  return new Promise((resolve, reject) => {
    const child = fork(file, [...[first, last, cpuSeconds].map(String), ...invariants]);
    let result: Catch | Miss | undefined;
    child.on('message', (message) => {
      result = message as Catch | Miss;
    });
    child.on('error', reject);
    child.on('exit', (code, signal) => {
      if (result !== undefined) resolve(result);
      else reject(new Error(`${file} ended without a result: ${signal ?? code}`));
    });
  });
}
