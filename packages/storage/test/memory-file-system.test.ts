import type { FileError, FileHandle, FileSystem } from '@lockstep/model';
import { describe, expect, it } from 'vitest';
import { MemoryDisk } from '../src/memory-file-system.ts';
import { seededRandom, Turns } from './turns.ts';

function world(seed = 1) {
  const turns = new Turns();
  const disk = new MemoryDisk({ random: seededRandom(seed), scheduler: turns, clock: turns });
  return { turns, disk };
}

/** Runs one operation to its end and gives its error (and value). */
function run<T>(
  turns: Turns,
  start: (done: (error: FileError | undefined, value: T) => void) => void,
) {
  let result: { error: FileError | undefined; value: T } | undefined;
  start((error, value) => {
    result = { error, value };
  });
  turns.drain();
  if (result === undefined) throw new Error('the operation did not complete');
  return result;
}

function create(turns: Turns, fs: FileSystem, path: string): FileHandle {
  return run<FileHandle>(turns, (done) => fs.open(path, 'create', done)).value;
}

function content(turns: Turns, fs: FileSystem, path: string): Uint8Array | undefined {
  const { error, value } = run<FileHandle>(turns, (done) => fs.open(path, 'read', done));
  if (error !== undefined) return undefined;
  return run<Uint8Array>(turns, (done) => fs.read(value, 0, 1 << 20, done)).value;
}

const filled = (length: number, byte: number) => new Uint8Array(length).fill(byte);

describe('memory disk', () => {
  it('keeps synced sectors and synced names over a power loss', () => {
    for (let seed = 1; seed < 50; seed++) {
      const { turns, disk } = world(seed);
      const fs = disk.mount();
      const file = create(turns, fs, 'a');
      run(turns, (done) => fs.write(file, [filled(3000, 7)], 0, (e) => done(e, 0)));
      run(turns, (done) => fs.sync(file, (e) => done(e, 0)));
      run(turns, (done) => fs.syncDirectory('', (e) => done(e, 0)));
      disk.crash();
      expect(content(turns, disk.mount(), 'a')).toEqual(filled(3000, 7));
    }
  });

  it('keeps, drops and tears unsynced sectors independently', () => {
    const seen = new Set<string>();
    for (let seed = 1; seed < 200; seed++) {
      const { turns, disk } = world(seed);
      const fs = disk.mount();
      const file = create(turns, fs, 'a');
      run(turns, (done) => fs.write(file, [filled(1536, 0)], 0, (e) => done(e, 0)));
      run(turns, (done) => fs.sync(file, (e) => done(e, 0)));
      run(turns, (done) => fs.syncDirectory('', (e) => done(e, 0)));
      run(turns, (done) => fs.write(file, [filled(1536, 9)], 0, (e) => done(e, 0)));
      disk.crash();
      const after = content(turns, disk.mount(), 'a')!;
      const sectors = [0, 512, 1024].map((at) => {
        const count = after.subarray(at, at + 512).filter((byte) => byte === 9).length;
        return count === 0 ? '-' : count === 512 ? 'k' : 't';
      });
      seen.add(sectors.join(''));
    }
    for (const outcome of ['---', 'kkk', '--k', 'k--']) expect(seen).toContain(outcome);
    expect([...seen].some((outcome) => outcome.includes('t'))).toBe(true);
  });

  it('drops a name that was not synced with its directory, in some crashes', () => {
    const seen = new Set<string>();
    for (let seed = 1; seed < 50; seed++) {
      const { turns, disk } = world(seed);
      const fs = disk.mount();
      create(turns, fs, 'old');
      run(turns, (done) => fs.syncDirectory('', (e) => done(e, 0)));
      run(turns, (done) => fs.rename('old', 'new', (e) => done(e, 0)));
      disk.crash();
      const after = disk.mount();
      seen.add(run<string[]>(turns, (done) => after.list('', done)).value.join());
    }
    expect([...seen].sort()).toEqual(['new', 'old']);
  });

  it('syncs only what was written before the sync was called', () => {
    let lost = 0;
    for (let seed = 1; seed < 50; seed++) {
      const { turns, disk } = world(seed);
      const fs = disk.mount();
      const file = create(turns, fs, 'a');
      run(turns, (done) => fs.syncDirectory('', (e) => done(e, 0)));
      fs.write(file, [filled(512, 1)], 0, () => {});
      fs.sync(file, () => {});
      fs.write(file, [filled(512, 2)], 0, () => {});
      turns.drain();
      disk.crash();
      const after = content(turns, disk.mount(), 'a')!;
      expect(after[511] === 1 || after[511] === 2).toBe(true);
      if (after[511] === 1) lost += 1;
    }
    expect(lost).toBeGreaterThan(5);
  });

  it('drops dirty pages when a sync fails, and later syncs succeed', () => {
    const { turns, disk } = world();
    const fs = disk.mount();
    const file = create(turns, fs, 'a');
    run(turns, (done) => fs.syncDirectory('', (e) => done(e, 0)));
    run(turns, (done) => fs.write(file, [filled(512, 1)], 0, (e) => done(e, 0)));
    disk.failNext('sync');
    expect(run(turns, (done) => fs.sync(file, (e) => done(e, 0))).error?.code).toBe('EIO');
    expect(run(turns, (done) => fs.sync(file, (e) => done(e, 0))).error).toBeUndefined();
    expect(content(turns, fs, 'a')).toEqual(filled(512, 1));
    disk.crash();
    expect(content(turns, disk.mount(), 'a')).toEqual(new Uint8Array(0));
  });

  it('fails a write beyond the capacity with ENOSPC', () => {
    const { turns, disk } = world();
    disk.capacityBytes = 1000;
    const fs = disk.mount();
    const file = create(turns, fs, 'a');
    const write = (offset: number) =>
      run(turns, (done) => fs.write(file, [filled(800, 1)], offset, (e) => done(e, 0))).error?.code;
    expect(write(0)).toBeUndefined();
    expect(write(0)).toBeUndefined();
    expect(write(800)).toBe('ENOSPC');
  });

  it('can be crashed before any operation, which then does not happen', () => {
    const { turns, disk } = world();
    const fs = disk.mount();
    disk.before = (operation) => {
      if (operation.kind === 'syncDirectory') disk.crash();
    };
    create(turns, fs, 'a');
    let called = false;
    fs.syncDirectory('', () => {
      called = true;
    });
    turns.drain();
    expect(called).toBe(false);
    fs.list('', () => {
      called = true;
    });
    turns.drain();
    expect(called).toBe(false);
  });

  it('completes delayed operations of one file in order', () => {
    const { turns, disk } = world();
    const fs = disk.mount();
    const file = create(turns, fs, 'a');
    const order: string[] = [];
    disk.delayMs = (operation) => (operation.kind === 'write' ? 10 : 0);
    fs.write(file, [filled(1, 1)], 0, () => order.push('write'));
    fs.sync(file, () => order.push('sync'));
    turns.drain();
    expect(order).toEqual([]);
    turns.advance(10);
    expect(order).toEqual(['write', 'sync']);
  });
});
