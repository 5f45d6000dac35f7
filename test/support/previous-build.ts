import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The release before this one, by the tag that a rolling upgrade must start from. */
export const PREVIOUS = '0.1.0';
/** For clones without tags. */
const PREVIOUS_COMMIT = '59ea6a8';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

export type PreviousBuild =
  | { readonly main: string; readonly missing?: undefined }
  | { readonly main?: undefined; readonly missing: string };

/**
 * The previous release, built once into the cache of tools (LOCKSTEP_TOOLS). A clone without the
 * history cannot have it, and says so; that it cannot be built is an error where CI is set.
 */
export function previousBuild(): PreviousBuild {
  const tools = process.env.LOCKSTEP_TOOLS ?? join(homedir(), '.cache', 'lockstep-tools');
  const directory = join(tools, `previous-${PREVIOUS}`);
  const main = join(directory, 'apps/lockstep/dist/main.js');
  if (existsSync(main)) return { main };
  const commit = previousCommit();
  if (commit === undefined) {
    return { missing: `neither tag v${PREVIOUS} nor commit ${PREVIOUS_COMMIT} is in this clone` };
  }
  // Another process may be building it too: whoever is done first gives it its name.
  const draft = `${directory}.${process.pid}`;
  try {
    build(commit, draft);
    try {
      renameSync(draft, directory);
    } catch (error) {
      if (!existsSync(main)) throw error;
    }
    return { main };
  } catch (error) {
    if (process.env.CI !== undefined) throw error;
    return { missing: `the previous release cannot be built: ${(error as Error).message}` };
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

function build(commit: string, directory: string): void {
  mkdirSync(directory, { recursive: true });
  const run = (command: string, ...args: string[]): void =>
    void execFileSync(command, args, { cwd: directory, stdio: 'pipe', timeout: 300_000 });
  const archive = execFileSync('git', ['archive', commit], {
    cwd: ROOT,
    maxBuffer: 64 * 1024 * 1024,
  });
  execFileSync('tar', ['-x'], { cwd: directory, input: archive });
  run('npm', 'ci', '--prefer-offline', '--no-audit', '--no-fund');
  run('npx', 'tsc', '-b');
}

function previousCommit(): string | undefined {
  for (const name of [`v${PREVIOUS}`, PREVIOUS_COMMIT]) {
    try {
      const args = ['rev-parse', '--verify', '--quiet', `${name}^{commit}`];
      return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim();
    } catch {
      // Try the next name.
    }
  }
  return undefined;
}
