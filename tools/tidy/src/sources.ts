import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Finding } from './finding.ts';

const LINES_MAX = 400;
const COLUMNS_MAX = 100;
const FORBIDDEN_NAMES = /(^|\/)(utils?|helpers?|common|misc|manager)\.ts$/;
const PURE = /^packages\/(model|raft|state-machine|lua)\/src\//;
/** Globals that a pure package must not touch; each word with why. */
const IMPURE = /\b(Date\.now|new Date|Math\.random|setTimeout|setInterval|setImmediate|process\.)/;

/** Files of the tree that people write: TypeScript, not generated. */
export function listSources(root: string): string[] {
  return execFileSync('git', ['ls-files', '*.ts'], { cwd: root, encoding: 'utf8' })
    .split('\n')
    .filter((path) => path !== '' && !path.includes('/gen/') && !path.endsWith('.d.ts'));
}

/** File size, line length, file names, and impure globals in pure packages. */
export function checkSource(path: string, text: string): Finding[] {
  const findings: Finding[] = [];
  const lines = text.split('\n');
  if (path.includes('/src/') && lines.length > LINES_MAX + 1) {
    findings.push({ where: path, why: `${lines.length} lines; split by concept at ${LINES_MAX}` });
  }
  if (FORBIDDEN_NAMES.test(path)) findings.push({ where: path, why: 'says nothing by its name' });
  lines.forEach((line, i) => {
    const where = `${path}:${i + 1}`;
    if (path.includes('/src/') && [...line].length > COLUMNS_MAX) {
      findings.push({ where, why: `over ${COLUMNS_MAX} columns` });
    }
    if (PURE.test(path) && IMPURE.test(line) && !/^\s*(\*|\/\/|\/\*)/.test(line)) {
      findings.push({ where, why: 'pure packages reach the world through ports only' });
    }
  });
  return findings;
}

export function checkSources(root: string): Finding[] {
  return listSources(root).flatMap((path) =>
    checkSource(path, readFileSync(join(root, path), 'utf8')),
  );
}
