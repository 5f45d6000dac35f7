import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Finding } from './finding.ts';

/** What each package may depend on inside the workspace (docs/architecture.md). */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  model: [],
  lua: [],
  raft: ['model'],
  'state-machine': ['model'],
  storage: ['model', 'raft'],
  transport: ['model', 'raft'],
  replica: ['model', 'raft', 'state-machine', 'storage', 'transport'],
  'adapter-etcd': ['model', 'state-machine', 'replica'],
  'adapter-zookeeper': ['model', 'state-machine', 'replica'],
  'adapter-redis': ['model', 'state-machine', 'replica', 'lua'],
  admin: ['model', 'state-machine', 'replica'],
  console: [],
};

/** Layers that nobody may import. */
const CLOSED_LAYERS = new Set(['layer:app', 'layer:tool', 'layer:test']);

export interface Graph {
  readonly nodes: Readonly<
    Record<string, { readonly data: { readonly tags?: readonly string[] } }>
  >;
  readonly dependencies: Readonly<Record<string, readonly { readonly target: string }[]>>;
}

/** The project graph as nx sees it: workspace dependencies of each package.json. */
export function readGraph(root: string): Graph {
  const directory = mkdtempSync(join(tmpdir(), 'tidy-'));
  try {
    const file = join(directory, 'graph.json');
    execFileSync(join(root, 'node_modules/.bin/nx'), ['graph', `--file=${file}`], {
      cwd: root,
      env: { ...process.env, NX_DAEMON: 'false' },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    return (JSON.parse(readFileSync(file, 'utf8')) as { graph: Graph }).graph;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

const short = (name: string): string => name.replace('@lockstep/', '');

/** Edges that the table does not allow, imports of closed layers, untagged packages, cycles. */
export function checkBoundaries(graph: Graph): Finding[] {
  const findings: Finding[] = [];
  for (const [name, node] of Object.entries(graph.nodes)) {
    if (!node.data.tags?.some((tag) => tag.startsWith('layer:'))) {
      findings.push({ where: name, why: 'has no layer: tag in its package.json' });
    }
    const allowed = ALLOWED[short(name)];
    for (const { target } of graph.dependencies[name] ?? []) {
      const tags = graph.nodes[target]?.data.tags ?? [];
      const closed = tags.find((tag) => CLOSED_LAYERS.has(tag));
      if (closed !== undefined && !node.data.tags?.includes('layer:tool') && !isTest(node)) {
        findings.push({ where: name, why: `depends on ${target}, a ${closed} package` });
      } else if (allowed !== undefined && !allowed.includes(short(target))) {
        findings.push({ where: name, why: `may not depend on ${target}` });
      }
    }
  }
  return findings.concat(findCycles(graph));
}

const isTest = (node: Graph['nodes'][string]): boolean =>
  node.data.tags?.includes('layer:test') ?? false;

function findCycles(graph: Graph): Finding[] {
  const findings: Finding[] = [];
  const done = new Set<string>();
  const path: string[] = [];
  const visit = (name: string): void => {
    if (done.has(name)) return;
    const at = path.indexOf(name);
    if (at >= 0) {
      findings.push({ where: name, why: `cycle: ${[...path.slice(at), name].join(' → ')}` });
      return;
    }
    path.push(name);
    for (const { target } of graph.dependencies[name] ?? []) visit(target);
    path.pop();
    done.add(name);
  };
  for (const name of Object.keys(graph.nodes)) visit(name);
  return findings;
}
