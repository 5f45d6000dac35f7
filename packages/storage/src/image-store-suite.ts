import type { FileError, ImageChange, ImageDirectory, ImageStore } from '@lockstep/model';
import type { TestFramework } from './log-driver.ts';

export interface ImageFixture {
  readonly directory: ImageDirectory;
  drive(): void;
  dispose(): Promise<void>;
}

/** Calls one callback operation of a fixture and waits for it. */
class ImageDriver {
  readonly fixture: ImageFixture;

  constructor(fixture: ImageFixture) {
    this.fixture = fixture;
  }

  async call<T>(
    start: (done: (error: FileError | undefined, value: T) => void) => void,
  ): Promise<T> {
    const result = new Promise<T>((resolve, reject) => {
      start((error, value) => {
        if (error === undefined) resolve(value);
        else reject(error);
      });
    });
    this.fixture.drive();
    return result;
  }

  open(name: string, create: boolean): Promise<ImageStore> {
    return this.call((done) => this.fixture.directory.open(name, create, done));
  }

  write(store: ImageStore, changes: readonly ImageChange[], sync = false): Promise<unknown> {
    return this.call((done) => store.write(changes, sync, (error) => done(error, undefined)));
  }

  close(store: ImageStore): Promise<unknown> {
    return this.call((done) => store.close((error) => done(error, undefined)));
  }

  rename(from: string, to: string): Promise<unknown> {
    const { directory } = this.fixture;
    return this.call((done) => directory.rename(from, to, (error) => done(error, undefined)));
  }

  remove(name: string): Promise<unknown> {
    const { directory } = this.fixture;
    return this.call((done) => directory.remove(name, (error) => done(error, undefined)));
  }

  /** All records of a fresh snapshot, in pages of about `bytes`. */
  async dump(store: ImageStore, bytes = 1 << 16): Promise<[string, string][]> {
    const snapshot = store.snapshot();
    const records = await this.drain(snapshot, bytes);
    snapshot.close();
    return records;
  }

  async drain(
    snapshot: ReturnType<ImageStore['snapshot']>,
    bytes: number,
  ): Promise<[string, string][]> {
    const records: [string, string][] = [];
    for (;;) {
      const page = await this.call<{ key: Uint8Array; value: Uint8Array }[]>((done) =>
        snapshot.next(bytes, done),
      );
      if (page.length === 0) return records;
      for (const { key, value } of page) records.push([hex(key), hex(value)]);
    }
  }
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}

const put = (key: string, value: string): ImageChange => ({
  key: Buffer.from(key, 'hex'),
  value: Buffer.from(value, 'hex'),
});
const del = (key: string): ImageChange => ({ key: Buffer.from(key, 'hex'), value: undefined });

/** The promises of ImageStore and ImageDirectory; every implementation passes them. */
export function runImageStoreSuite(
  framework: TestFramework,
  name: string,
  make: () => Promise<ImageFixture>,
): void {
  const { describe, it } = framework;
  const test = (title: string, body: (driver: ImageDriver) => Promise<void>): void =>
    it(title, async () => {
      const fixture = await make();
      try {
        await body(new ImageDriver(fixture));
      } finally {
        await fixture.dispose();
      }
    });
  describe(`${name} as an image store`, () => {
    testRecords(framework, test);
    testDirectory(framework, test);
  });
}

type Test = (title: string, body: (driver: ImageDriver) => Promise<void>) => void;

function testRecords({ expect }: TestFramework, test: Test): void {
  test('reads values as they stood at the call, whatever is written afterwards', async (driver) => {
    const store = await driver.open('a', true);
    const keys = Array.from({ length: 2000 }, (_, i) => i.toString(16).padStart(4, '0'));
    await driver.write(
      store,
      keys.map((key) => put(key, 'aa')),
    );
    const reading = driver.call<(Uint8Array | undefined)[]>((done) =>
      store.getMany(
        keys.map((key) => Buffer.from(key, 'hex')),
        done,
      ),
    );
    const removing = driver.write(store, keys.map(del));
    const [values] = await Promise.all([reading, removing]);
    expect(values.every((value) => value !== undefined && hex(value) === 'aa')).toBe(true);
    await driver.close(store);
  });

  test('orders keys by their bytes and keeps binary values', async (driver) => {
    const store = await driver.open('a', true);
    await driver.write(store, [
      put('ff', '00'),
      put('00ff', 'ff00'),
      put('7f', ''),
      put('0100', '01'),
    ]);
    expect(await driver.dump(store)).toEqual([
      ['00ff', 'ff00'],
      ['0100', '01'],
      ['7f', ''],
      ['ff', '00'],
    ]);
    await driver.close(store);
  });

  test('applies the changes of a batch in order', async (driver) => {
    const store = await driver.open('a', true);
    await driver.write(store, [put('01', '01'), put('02', '02')]);
    await driver.write(store, [del('01'), put('02', '22'), put('03', '03'), del('03')], true);
    expect(await driver.dump(store)).toEqual([['02', '22']]);
    await driver.close(store);
  });

  test('gets many values, undefined for what is missing', async (driver) => {
    const store = await driver.open('a', true);
    await driver.write(store, [put('01', 'aa'), put('03', '')]);
    const keys = ['01', '02', '03'].map((key) => Buffer.from(key, 'hex'));
    const values = await driver.call<(Uint8Array | undefined)[]>((done) =>
      store.getMany(keys, done),
    );
    expect(values.map((value) => (value === undefined ? undefined : hex(value)))).toEqual([
      'aa',
      undefined,
      '',
    ]);
    await driver.close(store);
  });

  test('gives a snapshot that later writes do not change, in pages', async (driver) => {
    const store = await driver.open('a', true);
    const keys = Array.from({ length: 300 }, (_, i) => i.toString(16).padStart(4, '0'));
    await driver.write(
      store,
      keys.map((key) => put(key, key.repeat(20))),
    );
    const snapshot = store.snapshot();
    await driver.write(store, [put('0000', 'ff'), del('0001'), put('ffff', '00')]);
    const first = await driver.call<{ key: Uint8Array }[]>((done) => snapshot.next(500, done));
    expect(first.length).toBeGreaterThan(0);
    expect(first.length < 50).toBe(true);
    const rest = await driver.drain(snapshot, 500);
    snapshot.close();
    expect(first.map(({ key }) => hex(key)).concat(rest.map(([key]) => key))).toEqual(keys);
    expect((await driver.dump(store)).length).toBe(300);
    await driver.close(store);
  });

  test('does not keep the buffers that a batch was made of', async (driver) => {
    const store = await driver.open('a', true);
    const change = put('01', 'aa');
    await driver.write(store, [change]);
    change.value!.fill(0);
    expect(await driver.dump(store)).toEqual([['01', 'aa']]);
    await driver.close(store);
  });
}

function testDirectory({ expect }: TestFramework, test: Test): void {
  const codeOf = async (promise: Promise<unknown>): Promise<string> => {
    try {
      await promise;
      return 'none';
    } catch (error) {
      return (error as FileError).code;
    }
  };

  test('keeps an image over close and open', async (driver) => {
    const store = await driver.open('a', true);
    await driver.write(store, [put('01', 'aa')], true);
    await driver.close(store);
    const again = await driver.open('a', false);
    expect(await driver.dump(again)).toEqual([['01', 'aa']]);
    await driver.close(again);
  });

  test('refuses to open what is missing, to create what exists, to open twice', async (driver) => {
    expect(await codeOf(driver.open('a', false))).toBe('ENOENT');
    const store = await driver.open('a', true);
    expect(await codeOf(driver.open('a', true))).toBe('EEXIST');
    expect(await codeOf(driver.open('a', false))).toBe('EBUSY');
    expect(await codeOf(driver.remove('a'))).toBe('EBUSY');
    expect(await codeOf(driver.rename('a', 'b'))).toBe('EBUSY');
    await driver.close(store);
  });

  test('renames a closed image and removes it', async (driver) => {
    const store = await driver.open('a', true);
    await driver.write(store, [put('01', 'aa')]);
    await driver.close(store);
    await driver.rename('a', 'aside');
    expect(await codeOf(driver.open('a', false))).toBe('ENOENT');
    const moved = await driver.open('aside', false);
    expect(await driver.dump(moved)).toEqual([['01', 'aa']]);
    await driver.close(moved);
    await driver.remove('aside');
    await driver.remove('aside');
    expect(await codeOf(driver.open('aside', false))).toBe('ENOENT');
  });
}
