import { describe, expect, it } from 'vitest';
import type { LogState } from '../src/contract.ts';
import { CrashWorld, script, TINY } from './crash-world.ts';
import { seededRandom } from './turns.ts';

const MANY = Number(process.env.LOCKSTEP_LONG === '1' ? 4000 : 300);
const SEED = Number(process.env.LOCKSTEP_SEED ?? 1);

/** A log with everything a log may hold, closed by a process death. */
function written(seed: number, steps: number): CrashWorld {
  const world = new CrashWorld(seed, TINY);
  world.open();
  world.turns.drain();
  for (const step of script(world).slice(0, steps)) {
    step.run();
    world.turns.drain();
  }
  world.crash('process');
  return world;
}

function reopen(world: CrashWorld): LogState {
  const opened = world.open();
  world.turns.drain();
  expect(opened.error).toBeUndefined();
  return opened.state!;
}

function textOf(entry: { term: number; data: Uint8Array }): string {
  return `${entry.term}:${Buffer.from(entry.data).toString('latin1')}`;
}

/** Whatever the log and the salvage say must be true; returns what kind of find it was. */
function judge(world: CrashWorld, state: LogState, what: string): string {
  const { model } = world;
  if (state.health !== 'damaged') {
    // Only what nobody reads was hit: gaps between records, files of no meaning any more.
    expect(world.judge(state), what).toBeUndefined();
    return state.health;
  }
  const { salvage } = state;
  if (salvage === undefined) return 'tail';
  for (const [index, entry] of salvage.entries) {
    expect(index, what).toBeGreaterThanOrEqual(salvage.from);
    expect(index, what).toBeLessThanOrEqual(salvage.last);
    if (salvage.isComplete) expect(textOf(entry), what).toBe(model.entries.get(index));
  }
  if (!salvage.isComplete) return 'part';
  expect(salvage.last, what).toBe(model.last);
  for (let index = model.base + 1; index < salvage.from; index++) {
    const page = world.log!.entries(index, index + 1, 0);
    if (typeof page !== 'string') {
      expect(textOf(page[0]!), `${what}, entry ${index}`).toBe(model.entries.get(index));
    }
  }
  const { term, vote } = state.hardState;
  // The script appends entries of later terms than it tells; no raft does.
  if (term <= model.term) expect([term, vote], what).toEqual([model.term, model.vote]);
  return 'whole';
}

describe('what is good behind damage', { timeout: 120_000 }, () => {
  it('is exactly what the log held, wherever one or two bytes are bad', () => {
    const random = seededRandom(SEED);
    const finds = new Map<string, number>();
    for (let run = 0; run < MANY; run++) {
      const steps = 6 + (random.u32() % 14);
      const world = written(run + 1, steps);
      const names = world.disk.names.list('wal').filter((name) => name.endsWith('.wal'));
      const hits: string[] = [];
      for (let hit = 0; hit <= random.u32() % 2; hit++) {
        const path = `wal/${names[random.u32() % names.length]}`;
        const offset = random.u32() % world.disk.names.file(path)!.size;
        world.disk.flipBit(path, offset, random.u32() % 8);
        hits.push(`${path}+${offset}`);
      }
      const what = `run ${run} of seed ${SEED}, ${steps} steps, ${hits.join(' ')}`;
      const find = judge(world, reopen(world), what);
      finds.set(find, (finds.get(find) ?? 0) + 1);
    }
    for (const kind of ['clean', 'tail', 'part', 'whole']) {
      expect([...finds.keys()], `finds are ${JSON.stringify([...finds])}`).toContain(kind);
    }
  });

  it('stays there until the first record behind the damage is durable', () => {
    const world = written(3, 9);
    world.disk.flipBit('wal/00000002.wal', 4096 + 40, 1);
    const { salvage } = reopen(world);
    expect(salvage?.isComplete).toBe(true);
    // A power loss at every storage call of that first write leaves all or nothing of it.
    for (let call = 1; ; call++) {
      const again = written(3, 9);
      again.disk.flipBit('wal/00000002.wal', 4096 + 40, 1);
      const state = reopen(again);
      const entries = [];
      for (let index = state.salvage!.from; index <= state.salvage!.last; index++) {
        const [term, text] = again.model.entries.get(index)!.split(/:(.*)/s);
        const data = Buffer.from(text!, 'latin1');
        entries.push({ index, term: Number(term), type: 0 as const, data });
      }
      const until = again.disk.operations + call;
      let crashed = false;
      again.disk.before = ({ number }) => {
        if (number === until) {
          crashed = true;
          again.crash('power');
        }
      };
      again.log?.repaired();
      again.append({ entries });
      again.turns.drain();
      if (!crashed) again.crash('process');
      const after = reopen(again);
      const isRestored = after.health !== 'damaged';
      if (isRestored) expect(after.lastIndex, `call ${call}`).toBe(again.model.last);
      else expect(after.salvage, `call ${call}`).toEqual(state.salvage);
      if (!crashed) {
        expect(isRestored).toBe(true);
        break;
      }
    }
  });
});
