import {
  expectedTexts,
  type LogDriver,
  type LogFixture,
  TEST_CONFIGURATION,
  type TestFramework,
  testEntries,
  withLog,
} from './log-driver.ts';

type Body = (driver: LogDriver, reopen: () => Promise<LogDriver>) => Promise<void>;

/** The promises of LogStore; every implementation passes them. */
export function runLogStoreSuite(
  framework: TestFramework,
  name: string,
  make: () => Promise<LogFixture>,
): void {
  const test = (title: string, body: Body): void => framework.it(title, () => withLog(make, body));
  framework.describe(`${name} as a log store`, () => {
    testAppending(framework, test);
    testOverwriting(framework, test);
    testCompaction(framework, test);
    testRestart(framework, test);
    testReading(framework, test);
  });
}

type Test = (title: string, body: Body) => void;

function testAppending({ expect }: TestFramework, test: Test): void {
  test('is empty at first, with the bootstrap configuration', async ({ log, state }) => {
    expect(state.health).toBe('clean');
    expect(state.configuration).toEqual(TEST_CONFIGURATION);
    expect([log.firstIndex(), log.lastIndex(), log.term(0), log.term(1)]).toEqual([
      1,
      0,
      0,
      undefined,
    ]);
    expect(log.initialState()).toEqual({
      hardState: { term: 0, vote: 0, commit: 0 },
      configuration: TEST_CONFIGURATION,
      applied: 0,
    });
  });

  test('acknowledges tasks in the order they were queued', async (driver) => {
    const waiting: Promise<void>[] = [];
    for (let index = 1; index <= 20; index++) {
      waiting.push(driver.queue({ entries: testEntries(index, index, 1) }));
      if (index % 7 === 0) driver.fixture.drive();
    }
    driver.fixture.drive();
    await Promise.all(waiting);
    expect(driver.acknowledged).toEqual(Array.from({ length: 20 }, (_, i) => i + 1));
    expect(await driver.read(1, 20)).toEqual(expectedTexts(1, 20, 1));
  });

  test('acknowledges a task that need not sync without waiting for a later one', async (driver) => {
    const synced = driver.queue({ entries: testEntries(1, 2, 1) });
    const hint = driver.queue({ hardState: { term: 1, vote: 2, commit: 2 }, mustSync: false });
    driver.fixture.drive();
    await Promise.all([synced, hint]);
    const alone = driver.queue({ mustSync: false });
    driver.fixture.drive();
    await alone;
    expect(driver.acknowledged).toEqual([1, 2, 3]);
  });

  test('keeps a hard state that comes without entries', async (driver, reopen) => {
    await driver.append([], { term: 7, vote: 3, commit: 0 });
    expect(driver.log.initialState().hardState).toEqual({ term: 7, vote: 3, commit: 0 });
    const { state } = await reopen();
    expect(state.hardState).toEqual({ term: 7, vote: 3, commit: 0 });
    expect(state.lastIndex).toBe(0);
  });

  test('writes a commit hint at the latest on close', async (driver, reopen) => {
    await driver.append(testEntries(1, 3, 1), { term: 1, vote: 1, commit: 0 });
    const hint = driver.queue({ hardState: { term: 1, vote: 1, commit: 3 }, mustSync: false });
    driver.fixture.drive();
    await hint;
    expect((await reopen()).state.hardState.commit).toBe(3);
  });

  test('reports what the driver says is applied', async ({ log }) => {
    const configuration = { ...TEST_CONFIGURATION, voters: [1] };
    log.setApplied(5, configuration);
    expect(log.initialState().applied).toBe(5);
    expect(log.initialState().configuration).toEqual(configuration);
  });
}

function testOverwriting({ expect }: TestFramework, test: Test): void {
  test('replaces a conflicting suffix, also while the first write is in flight', async (driver) => {
    const first = driver.queue({ entries: testEntries(1, 6, 1) });
    const second = driver.queue({ entries: testEntries(4, 5, 2) });
    const third = driver.queue({ entries: testEntries(5, 7, 3) });
    driver.fixture.drive();
    await Promise.all([first, second, third]);
    expect(driver.log.lastIndex()).toBe(7);
    expect(await driver.read(1, 7)).toEqual([
      ...expectedTexts(1, 3, 1),
      ...expectedTexts(4, 4, 2),
      ...expectedTexts(5, 7, 3),
    ]);
    expect([3, 4, 5, 7, 8].map((index) => driver.log.term(index))).toEqual([1, 2, 3, 3, undefined]);
  });

  test('replaces a durable suffix by a shorter one, for good', async (driver, reopen) => {
    await driver.append(testEntries(1, 9, 1));
    await driver.append(testEntries(4, 4, 2));
    expect(driver.log.lastIndex()).toBe(4);
    expect(driver.log.term(5)).toBe(undefined);
    const again = await reopen();
    expect(again.state.lastIndex).toBe(4);
    expect(await again.read(1, 4)).toEqual([...expectedTexts(1, 3, 1), ...expectedTexts(4, 4, 2)]);
  });

  test('replaces everything from the first entry on', async (driver, reopen) => {
    await driver.append(testEntries(1, 3, 1));
    const older = driver.queue({ entries: testEntries(4, 8, 1) });
    const newer = driver.queue({ entries: testEntries(1, 2, 2) });
    driver.fixture.drive();
    await Promise.all([older, newer]);
    expect(await driver.read(1, 2)).toEqual(expectedTexts(1, 2, 2));
    expect((await reopen()).state.lastIndex).toBe(2);
  });
}

function testCompaction({ expect }: TestFramework, test: Test): void {
  for (const index of [0, 1, 9, 10]) {
    test(`compacts 10 entries to ${index}, and stays so`, async (driver, reopen) => {
      await driver.append(testEntries(1, 5, 1));
      await driver.append(testEntries(6, 10, 2));
      const term = driver.log.term(index)!;
      const configuration = { ...TEST_CONFIGURATION, voters: [1, 5] };
      driver.log.compact(index, term, configuration);
      driver.fixture.drive();
      expect(driver.log.firstIndex()).toBe(index + 1);
      expect(driver.log.lastIndex()).toBe(10);
      expect(driver.log.term(index)).toBe(term);
      if (index > 0) {
        expect(driver.log.term(index - 1)).toBe(undefined);
        expect(driver.log.entries(index, 11, 1000)).toBe('compacted');
      }
      const before = await driver.contents();
      const again = await reopen();
      expect(await again.contents()).toEqual(before);
      expect(again.state.snapshotIndex).toBe(index);
      expect(again.state.snapshotTerm).toBe(term);
      expect(again.state.configuration).toEqual(index === 0 ? TEST_CONFIGURATION : configuration);
    });
  }

  test('ignores a compaction that lies behind', async (driver) => {
    await driver.append(testEntries(1, 10, 1));
    driver.log.compact(6, 1, TEST_CONFIGURATION);
    driver.log.compact(3, 1, TEST_CONFIGURATION);
    driver.fixture.drive();
    expect(driver.log.firstIndex()).toBe(7);
  });

  test('overwrites right behind the compacted part', async (driver, reopen) => {
    await driver.append(testEntries(1, 10, 1));
    driver.log.compact(5, 1, TEST_CONFIGURATION);
    await driver.append(testEntries(6, 7, 2));
    const again = await reopen();
    expect(again.state.firstIndex).toBe(6);
    expect(await again.read(6, 7)).toEqual(expectedTexts(6, 7, 2));
  });

  test('restarts behind a snapshot, with entries in the same task', async (driver, reopen) => {
    await driver.append(testEntries(1, 10, 1), { term: 1, vote: 1, commit: 4 });
    const configuration = { ...TEST_CONFIGURATION, learners: [9] };
    const done = driver.queue({
      snapshot: { index: 50, term: 3, configuration },
      entries: testEntries(51, 52, 3),
      hardState: { term: 3, vote: 0, commit: 50 },
    });
    driver.fixture.drive();
    await done;
    expect([driver.log.firstIndex(), driver.log.lastIndex()]).toEqual([51, 52]);
    expect([10, 50, 51].map((index) => driver.log.term(index))).toEqual([undefined, 3, 3]);
    const before = await driver.contents();
    const again = await reopen();
    expect(await again.contents()).toEqual(before);
    expect(again.state.configuration).toEqual(configuration);
    await again.append(testEntries(53, 53, 4));
    expect(again.log.lastIndex()).toBe(53);
  });

  test('restarts behind a snapshot that is queued between entries', async (driver) => {
    const tasks = [
      driver.queue({ entries: testEntries(1, 5, 1) }),
      driver.queue({ snapshot: { index: 20, term: 2, configuration: TEST_CONFIGURATION } }),
      driver.queue({ entries: testEntries(21, 22, 2) }),
    ];
    driver.fixture.drive();
    await Promise.all(tasks);
    expect(await driver.read(21, 22)).toEqual(expectedTexts(21, 22, 2));
    expect(driver.log.entries(5, 6, 100)).toBe('compacted');
  });
}

function testRestart({ expect }: TestFramework, test: Test): void {
  test('is the same after a restart, several times', async (driver, reopen) => {
    await driver.append(testEntries(1, 40, 1), { term: 1, vote: 2, commit: 10 });
    await driver.append(testEntries(30, 60, 2), { term: 2, vote: 0, commit: 29 });
    await driver.append(testEntries(61, 61, 5), { term: 5, vote: 1, commit: 61 });
    const before = await driver.contents();
    const second = await reopen();
    expect(await second.contents()).toEqual(before);
    await second.append(testEntries(62, 70, 5));
    const after = await second.contents();
    const third = await reopen();
    expect(third.state.health).toBe('clean');
    expect(await third.contents()).toEqual(after);
  });

  test('keeps the entry types and every byte of the data', async (driver, reopen) => {
    const data = Uint8Array.from({ length: 5000 }, (_, i) => (i % 700 < 600 ? 0 : i & 255));
    await driver.append([
      { index: 1, term: 1, type: 1, data },
      { index: 2, term: 1, type: 2, data: new Uint8Array(0) },
      { index: 3, term: 4, type: 0, data: data.subarray(17, 18) },
    ]);
    const { log } = await reopen();
    const entries = log.entries(1, 4, 1 << 20);
    if (typeof entries === 'string') throw new Error(entries);
    expect(entries.map(({ type }) => type)).toEqual([1, 2, 0]);
    expect(entries.map((entry) => Array.from(entry.data))).toEqual([
      Array.from(data),
      [],
      Array.from(data.subarray(17, 18)),
    ]);
  });

  test('keeps entries larger than a segment', async (driver, reopen) => {
    await driver.append(testEntries(1, 2, 1));
    await driver.append(testEntries(3, 4, 1, 300_000));
    await driver.append(testEntries(5, 6, 1));
    const again = await reopen();
    expect(await again.read(1, 6)).toEqual(expectedTexts(1, 6, 1));
  });
}

function testReading({ expect }: TestFramework, test: Test): void {
  test('reads entries that left the cache, from any index', async (driver, reopen) => {
    for (let index = 1; index <= 60; index += 3) {
      await driver.append(testEntries(index, index + 2, 1, 2000));
    }
    for (const lo of [1, 2, 31, 58]) {
      expect(await driver.read(lo, 60)).toEqual(expectedTexts(lo, 60, 1));
    }
    const again = await reopen();
    expect(await again.read(1, 60)).toEqual(expectedTexts(1, 60, 1));
  });

  test('reads the newest version of what was overwritten', async (driver) => {
    await driver.append(testEntries(1, 30, 1, 2000));
    await driver.read(1, 30);
    await driver.append(testEntries(11, 40, 2, 2000));
    await driver.append(testEntries(41, 80, 3, 2000));
    expect(await driver.read(1, 80)).toEqual([
      ...expectedTexts(1, 10, 1),
      ...expectedTexts(11, 40, 2),
      ...expectedTexts(41, 80, 3),
    ]);
  });

  test('gives at least one entry and no more than fits', async (driver) => {
    await driver.append(testEntries(1, 10, 1, 100));
    const { log } = driver;
    const count = (bytesMax: number): number => log.entries(3, 11, bytesMax).length;
    expect([count(0), count(100), count(250), count(10_000)]).toEqual([1, 1, 2, 8]);
    expect(log.entries(3, 5, 10_000).length).toBe(2);
  });
}
