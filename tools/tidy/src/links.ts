import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import type { Finding } from './finding.ts';

/** Relative links of Markdown pages that lead nowhere. */
export function checkLinks(root: string): Finding[] {
  const pages = execFileSync('git', ['ls-files', '*.md'], { cwd: root, encoding: 'utf8' })
    .split('\n')
    .filter((path) => path !== '');
  return pages.flatMap((page) => {
    const text = readFileSync(join(root, page), 'utf8');
    const findings: Finding[] = [];
    for (const match of text.matchAll(/\]\(([^)#\s]+)(#[^)]*)?\)/g)) {
      const target = match[1] ?? '';
      if (/^[a-z]+:/.test(target)) continue;
      if (!existsSync(join(root, normalize(join(dirname(page), target))))) {
        findings.push({ where: page, why: `links to ${target}, which does not exist` });
      }
    }
    return findings;
  });
}
