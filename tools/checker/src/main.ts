import { checkHistory, holds, summarize } from './check.ts';
import { readHistory } from './file.ts';
import type { Operation } from './operation.ts';
import { tell } from './verdict.ts';

const USAGE = `lockstep-checker FILE...
  judges a history; several files are parts of one, from load generators of one machine
`;

function main(paths: readonly string[]): number {
  if (paths.length === 0 || paths.includes('--help')) {
    process.stdout.write(USAGE);
    return paths.length === 0 ? 2 : 0;
  }
  const operations: Operation[] = [];
  for (const path of paths) {
    const { header, operations: own } = readHistory(path);
    const seed = header.seed === undefined ? '' : `, seed ${header.seed}`;
    console.log(`${path}: ${header.source}${seed}`);
    for (const operation of own) operations.push(operation);
  }
  console.log(summarize(operations));
  const verdicts = checkHistory(operations);
  for (const line of verdicts.flatMap(tell)) console.log(line);
  console.log(holds(verdicts) ? 'verdict: every check holds' : 'verdict: VIOLATED');
  return holds(verdicts) ? 0 : 1;
}

try {
  process.exitCode = main(process.argv.slice(2));
} catch (error) {
  console.error(`lockstep-checker: ${error instanceof Error ? error.message : error}`);
  process.exitCode = 2;
}
