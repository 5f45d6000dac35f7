import { describe, expect, it } from 'vitest';
import { CrashWorld, script, TINY } from './crash-world.ts';

/** Runs the script with a crash before disk operation `at`; false when it was not reached. */
function runUntilCrash(world: CrashWorld, at: number): boolean {
  let hasCrashed = false;
  world.disk.before = ({ number }) => {
    if (number !== at) return;
    hasCrashed = true;
    world.disk.crash();
  };
  world.open();
  world.turns.drain();
  for (const step of script(world)) {
    if (hasCrashed) break;
    step.run();
    world.turns.drain(step.turns);
  }
  world.turns.drain();
  return hasCrashed;
}

function recover(world: CrashWorld, what: string): string {
  const opened = world.open();
  world.turns.drain();
  expect(opened.error, what).toBeUndefined();
  expect(opened.state, what).toBeDefined();
  expect(['clean', 'torn'], `${what}: ${opened.state!.damage?.reason}`).toContain(
    opened.state!.health,
  );
  expect(world.judge(opened.state!), what).toBeUndefined();
  return opened.state!.health;
}

// Generous: the machine may be busy; alone each takes about a second.
const TIMEOUT_MS = 60_000;

describe('write-ahead log under crashes', () => {
  it('keeps every promise when the power fails at any disk operation', {
    timeout: TIMEOUT_MS,
  }, () => {
    let points = 0;
    const healths = new Set<string>();
    for (let at = 1; ; at++) {
      let reached = true;
      for (let seed = 1; seed <= 3; seed++) {
        const world = new CrashWorld(at * 31 + seed, TINY);
        reached = runUntilCrash(world, at);
        const what = `operation ${at}, seed ${seed}`;
        world.crash('process');
        healths.add(recover(world, what));
        world.crash('power');
        healths.add(recover(world, `${what}, again`));
      }
      if (!reached) break;
      points += 1;
    }
    expect(points).toBeGreaterThan(100);
    expect([...healths].sort()).toEqual(['clean', 'torn']);
  });

  it('recovers when the power fails again at any operation of the recovery', {
    timeout: TIMEOUT_MS,
  }, () => {
    for (let at = 5; at < 150; at += 13) {
      for (let again = 1; again < 36; again++) {
        const world = new CrashWorld(at * 77 + again, TINY);
        runUntilCrash(world, at);
        world.crash('process');
        const start = world.disk.operations;
        world.disk.before = ({ number }) => {
          if (number === start + again) world.disk.crash();
        };
        world.open();
        world.turns.drain();
        world.crash('power');
        recover(world, `operation ${at}, then ${again} of the recovery`);
      }
    }
  });

  it('finds the same log twice, and goes on from there', { timeout: TIMEOUT_MS }, () => {
    for (let seed = 1; seed < 40; seed++) {
      const world = new CrashWorld(seed, TINY);
      runUntilCrash(world, 40 + seed * 2);
      world.crash('process');
      const first = world.open();
      world.turns.drain();
      const before = JSON.stringify({ ...first.state, health: '' });
      world.crash('power');
      const second = world.open();
      world.turns.drain();
      expect(second.state!.health).toBe('clean');
      expect(JSON.stringify({ ...second.state, health: '' })).toBe(before);
    }
  });
});
