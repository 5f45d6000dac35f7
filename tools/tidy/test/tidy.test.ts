import { describe, expect, it } from 'vitest';
import { checkBoundaries, checkSource, type Graph } from '../src/index.ts';

function graphOf(edges: Record<string, string[]>, layers: Record<string, string> = {}): Graph {
  const names = new Set([...Object.keys(edges), ...Object.values(edges).flat()]);
  return {
    nodes: Object.fromEntries(
      [...names].map((name) => [name, { data: { tags: [`layer:${layers[name] ?? 'pure'}`] } }]),
    ),
    dependencies: Object.fromEntries(
      Object.entries(edges).map(([from, to]) => [from, to.map((target) => ({ target }))]),
    ),
  };
}

describe('boundaries', () => {
  it('accepts what the architecture draws', () => {
    expect(
      checkBoundaries(graphOf({ '@lockstep/raft': ['@lockstep/model'], '@lockstep/model': [] })),
    ).toEqual([]);
  });

  it('refuses the state machine knowing a door', () => {
    const findings = checkBoundaries(
      graphOf({ '@lockstep/state-machine': ['@lockstep/adapter-redis'] }),
    );
    expect(findings.map((finding) => finding.why)).toEqual([
      'may not depend on @lockstep/adapter-redis',
    ]);
  });

  it('refuses a package that imports an application', () => {
    const findings = checkBoundaries(
      graphOf({ '@lockstep/anything': ['lockstep'] }, { lockstep: 'app' }),
    );
    expect(findings).toHaveLength(1);
  });

  it('names the packages of a cycle', () => {
    const findings = checkBoundaries(graphOf({ a: ['b'], b: ['a'] }));
    expect(findings.map((finding) => finding.why)).toEqual(['cycle: a → b → a']);
  });
});

describe('sources', () => {
  it('finds a clock in a pure package, but not in its comments', () => {
    const text = '// Date.now is not for us\nexport const now = Date.now();\n';
    expect(checkSource('packages/raft/src/x.ts', text).map((finding) => finding.where)).toEqual([
      'packages/raft/src/x.ts:2',
    ]);
    expect(checkSource('packages/storage/src/x.ts', text)).toEqual([]);
  });

  it('finds over-long lines, files and names without meaning', () => {
    expect(checkSource('packages/raft/src/x.ts', `${'x'.repeat(101)}\n`)).toHaveLength(1);
    expect(checkSource('packages/raft/src/x.ts', 'x\n'.repeat(401))).toHaveLength(1);
    expect(checkSource('packages/raft/src/utils.ts', 'x\n')).toHaveLength(1);
  });
});
