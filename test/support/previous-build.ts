import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
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
 * The previous release, built once into the cache of tools (LOCKSTEP_TOOLS). Without the history or
 * the packages it needs it is missing, and says why; where CI is set, that is an error.
 */
export function previousBuild(): PreviousBuild {
  const tools = process.env.LOCKSTEP_TOOLS ?? join(homedir(), '.cache', 'lockstep-tools');
  const directory = join(tools, `previous-${PREVIOUS}`);
  const main = join(directory, 'apps/lockstep/dist/main.js');
  const built = join(directory, 'built');
  if (existsSync(built)) return { main };
  try {
    mkdirSync(directory, { recursive: true });
    const run = (command: string, ...args: string[]): void =>
      void execFileSync(command, args, { cwd: directory, stdio: 'pipe', timeout: 300_000 });
    const archive = execFileSync('git', ['archive', previousCommit()], {
      cwd: ROOT,
      maxBuffer: 64 * 1024 * 1024,
    });
    execFileSync('tar', ['-x'], { cwd: directory, input: archive });
    run('npm', 'ci', '--prefer-offline', '--no-audit', '--no-fund');
    run('npx', 'tsc', '-b');
    writeFileSync(built, '');
    return { main };
  } catch (error) {
    if (process.env.CI !== undefined) throw error;
    return { missing: `the previous release cannot be built: ${(error as Error).message}` };
  }
}

function previousCommit(): string {
  for (const name of [`v${PREVIOUS}`, PREVIOUS_COMMIT]) {
    try {
      const args = ['rev-parse', '--verify', '--quiet', `${name}^{commit}`];
      return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim();
    } catch {
      // Try the next name.
    }
  }
  throw new Error(`neither tag v${PREVIOUS} nor commit ${PREVIOUS_COMMIT} is in this clone`);
}
