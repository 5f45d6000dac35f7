import { checkBoundaries, readGraph } from './boundaries.ts';
import { checkLinks } from './links.ts';
import { checkSources } from './sources.ts';

const root = process.cwd();
const findings = [...checkBoundaries(readGraph(root)), ...checkSources(root), ...checkLinks(root)];
for (const { where, why } of findings) console.error(`${where}: ${why}`);
if (findings.length > 0) {
  console.error(`tidy: ${findings.length} findings`);
  process.exitCode = 1;
} else {
  console.log('tidy: nothing found');
}
