import type { Random } from '@lockstep/model';
import type { AppendTask } from '@lockstep/raft';
import { describe, expect, it } from 'vitest';
import { openLevelLog } from '../src/level-log.ts';
import { LogDriver, type LogFixture, TEST_CONFIGURATION, testEntries } from '../src/log-driver.ts';
import { MemoryImageDisk } from '../src/memory-image-store.ts';
import { CrashWorld, TINY } from './crash-world.ts';
import { seededRandom, Turns } from './turns.ts';
import { memoryLogFixture, walFixture } from './virtual-fixtures.ts';

/** A task that a raft core could hand out on a log from `base` to `last`. */
function randomTask(
  random: Random,
  log: { base: number; last: number; term: number },
): Partial<AppendTask> {
  const choice = random.u32() % 12;
  const term = log.term + (random.u32() % 3 === 0 ? 1 : 0);
  const hardState = { term, vote: random.u32() % 4, commit: log.base };
  if (choice === 0) return { hardState };
  if (choice === 1) return { hardState: { ...hardState, term: log.term }, mustSync: false };
  if (choice === 2) {
    const index = log.last + 1 + (random.u32() % 50);
    const count = random.u32() % 3;
    return {
      snapshot: { index, term, configuration: TEST_CONFIGURATION },
      entries: testEntries(index + 1, index + count, term),
      hardState,
    };
  }
  const back = choice < 6 ? random.u32() % 6 : 0;
  const first = Math.max(log.base + 1, log.last + 1 - back);
  const bytes = [0, 50, 300, 1200, 5000][random.u32() % 5]!;
  return { entries: testEntries(first, first + (random.u32() % 4), term, bytes), hardState };
}

const noSync = (task: Partial<AppendTask>): boolean => task.mustSync === false;

describe('write-ahead log under random work', { timeout: 60_000 }, () => {
  it('keeps every promise through chains of crashes', () => {
    let crashes = 0;
    for (let seed = 1; seed <= 25; seed++) {
      const random = seededRandom(seed * 7919);
      const world = new CrashWorld(seed, TINY);
      for (let life = 0; life < 8; life++) {
        const what = `seed ${seed}, life ${life}`;
        const opened = world.open();
        world.turns.drain();
        expect(opened.error, what).toBeUndefined();
        expect(opened.state!.health, `${what}: ${opened.state!.damage?.reason}`).not.toBe(
          'damaged',
        );
        expect(world.judge(opened.state!), what).toBeUndefined();
        world.adopt(opened.state!);
        const at = world.disk.operations + 1 + (random.u32() % 120);
        let hasCrashed = false;
        world.disk.before = ({ number }) => {
          if (number !== at || random.u32() % 3 === 0) return;
          hasCrashed = true;
          world.disk.crash();
        };
        for (let step = 0; step < 30 && !hasCrashed; step++) {
          const { base, last, term } = world.model;
          const floor = Math.max(base, ...world.basesAsked);
          const task = randomTask(random, { base: Math.min(floor, last), last, term });
          if (!noSync(task)) world.append(task);
          if (random.u32() % 6 === 0) {
            const log = world.log!;
            // Only what is durable and not about to be overwritten may be compacted.
            if (world.acknowledged === world.states.length - 1) {
              const span = log.lastIndex() - log.firstIndex() + 1;
              world.compact(log.firstIndex() - 1 + (random.u32() % (span + 1)));
            }
          }
          world.turns.drain(random.u32() % 40);
        }
        crashes += hasCrashed ? 1 : 0;
        world.crash(random.u32() % 2 === 0 ? 'power' : 'process');
      }
    }
    expect(crashes).toBeGreaterThan(60);
  });
});

/** Random work without a crash, all of it acknowledged. */
function workedWorld(seed: number): { world: CrashWorld; random: Random } {
  const random = seededRandom(seed * 15485863);
  const world = new CrashWorld(seed, TINY);
  world.open();
  world.turns.drain();
  for (let step = 0; step < 25; step++) {
    const { base, last, term } = world.model;
    const floor = Math.min(Math.max(base, ...world.basesAsked), last);
    const task = randomTask(random, { base: floor, last, term });
    if (!noSync(task)) world.append(task);
    world.turns.drain();
    const log = world.log!;
    const span = log.lastIndex() - log.firstIndex() + 1;
    if (step % 6 === 5) world.compact(log.firstIndex() - 1 + (random.u32() % (span + 1)));
    world.turns.drain();
  }
  return { world, random };
}

describe('write-ahead log under bit rot', { timeout: 60_000 }, () => {
  it('either is damaged or has everything that was acknowledged', () => {
    let damaged = 0;
    for (let seed = 1; seed <= 60; seed++) {
      const { world, random } = workedWorld(seed);
      world.crash('process');
      const names = world.disk.names.list('wal').filter((name) => name !== 'spare');
      const file = `wal/${names[random.u32() % names.length]}`;
      world.disk.flipBit(file, random.u32() % world.disk.names.file(file)!.size, random.u32() % 8);
      const opened = world.open();
      world.turns.drain();
      expect(opened.error).toBeUndefined();
      if (opened.state!.health === 'damaged') damaged += 1;
      else expect(world.judge(opened.state!), `seed ${seed}, ${file}`).toBeUndefined();
    }
    expect(damaged).toBeGreaterThan(15);
  });
});

async function levelFixture(): Promise<LogFixture> {
  const turns = new Turns();
  const disk = new MemoryImageDisk({ random: seededRandom(1), scheduler: turns });
  const open: LogFixture['open'] = (identity, bootstrap, handlers, done) => {
    disk.mount().open('log', !disk.images.has('log'), (_error, store) => {
      openLevelLog(store, { scheduler: turns })(identity, bootstrap, handlers, done);
    });
  };
  return { open, drive: () => void turns.drain(), dispose: async () => {} };
}

describe('log stores side by side', { timeout: 60_000 }, () => {
  it('hold the same after the same random tasks and restarts', async () => {
    for (let seed = 1; seed <= 25; seed++) {
      const random = seededRandom(seed * 104729);
      const fixtures = [await memoryLogFixture(), await walFixture(TINY), await levelFixture()];
      let drivers = await Promise.all(fixtures.map((fixture) => new LogDriver(fixture).open()));
      for (let step = 0; step < 40; step++) {
        const log = drivers[0]!.log;
        const [base, last] = [log.firstIndex() - 1, log.lastIndex()];
        const { term } = log.initialState().hardState;
        const task = randomTask(random, { base, last, term });
        for (const driver of drivers) {
          const done = driver.queue(task);
          driver.fixture.drive();
          await done;
        }
        if (random.u32() % 5 === 0) {
          const span = log.lastIndex() - log.firstIndex() + 1;
          const index = log.firstIndex() - 1 + (random.u32() % (span + 1));
          for (const driver of drivers) {
            driver.log.compact(index, log.term(index) ?? 0, TEST_CONFIGURATION);
            driver.fixture.drive();
          }
        }
        if (random.u32() % 8 === 0) {
          for (const driver of drivers) await driver.close();
          drivers = await Promise.all(fixtures.map((fixture) => new LogDriver(fixture).open()));
        }
        if (step % 4 === 3 && !noSync(task)) {
          const [memory, wal, level] = await Promise.all(
            drivers.map((driver) => driver.contents()),
          );
          expect(wal, `seed ${seed}, step ${step}`).toEqual(memory);
          expect(level, `seed ${seed}, step ${step}`).toEqual(memory);
        }
      }
    }
  });
});
