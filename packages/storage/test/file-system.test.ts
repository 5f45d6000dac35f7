import type { FileError, FileHandle, FileSystem } from '@lockstep/model';
import { describe, expect, it } from 'vitest';
import { NodeFileSystem, remainingBuffers } from '../src/node-file-system.ts';
import { temporaryDirectory } from './disk-fixtures.ts';
import { memoryWorld } from './virtual-fixtures.ts';

interface Fixture {
  readonly fs: FileSystem;
  drive(): void;
  dispose(): Promise<void>;
}

async function memoryFixture(): Promise<Fixture> {
  const { turns, disk } = memoryWorld();
  return { fs: disk.mount(), drive: () => void turns.drain(), dispose: async () => {} };
}

async function nodeFixture(): Promise<Fixture> {
  const { path, dispose } = await temporaryDirectory();
  return { fs: new NodeFileSystem(path), drive: () => {}, dispose };
}

/** Runs one operation and gives its value, or its error code. */
type Call = <T>(
  start: (done: (error: FileError | undefined, value?: T) => void) => void,
) => Promise<T>;

const implementations = [
  { name: 'node:fs', make: nodeFixture },
  { name: 'the memory disk', make: memoryFixture },
];

describe.each(implementations)('$name as a file system', ({ make }) => {
  async function withFileSystem(
    body: (fs: FileSystem, call: Call, fixture: Fixture) => Promise<void>,
  ) {
    const fixture = await make();
    const call: Call = (start) => {
      const result = new Promise<never>((resolve, reject) => {
        start((error, value) => (error === undefined ? resolve(value as never) : reject(error)));
      });
      fixture.drive();
      return result;
    };
    await body(fixture.fs, call, fixture);
    await fixture.dispose();
  }
  const text = (value: string): Uint8Array => Buffer.from(value);

  it('reads back what it wrote durably, between other writes of the same file', () =>
    withFileSystem(async (fs, call) => {
      const file = await call<FileHandle>((done) => fs.open('a', 'create', done));
      const calls = [
        call((done) => fs.write(file, [text('......')], 0, done)),
        call((done) => fs.writeDurably(file, [text('a'), text('b')], 1, done)),
        call((done) => fs.write(file, [text('c')], 2, done)),
      ];
      await Promise.all(calls);
      await call((done) => fs.rename('a', 'b', done));
      await call((done) => fs.writeDurably(file, [text('d')], 6, done));
      const bytes = await call<Uint8Array>((done) => fs.read(file, 0, 100, done));
      expect(Buffer.from(bytes).toString()).toBe('.ac...d');
      await call((done) => fs.close(file, done));
      const again = await call<FileHandle>((done) => fs.open('b', 'write', done));
      await call((done) => fs.writeDurably(again, [text('e')], 0, done));
      expect(await call<number>((done) => fs.size(again, done))).toBe(7);
      await call((done) => fs.close(again, done));
    }));

  it('writes buffers one after another and reads them back', () =>
    withFileSystem(async (fs, call) => {
      const file = await call<FileHandle>((done) => fs.open('a', 'create', done));
      await call((done) => fs.write(file, [text('ab'), text(''), text('cde')], 3, done));
      await call((done) => fs.sync(file, done));
      expect(await call<number>((done) => fs.size(file, done))).toBe(8);
      const read = (offset: number, length: number): Promise<string> =>
        call<Uint8Array>((done) => fs.read(file, offset, length, done)).then((bytes) =>
          Buffer.from(bytes).toString(),
        );
      expect(await read(0, 100)).toBe('\0\0\0abcde');
      expect(await read(4, 2)).toBe('bc');
      expect([await read(8, 5), await read(100, 5), await read(2, 0)]).toEqual(['', '', '']);
      await call((done) => fs.truncate(file, 5, done));
      expect(await read(0, 100)).toBe('\0\0\0ab');
      await call((done) => fs.close(file, done));
    }));

  it('tells what exists and what does not by code', () =>
    withFileSystem(async (fs, call) => {
      const codeOf = (promise: Promise<unknown>): Promise<string> =>
        promise.then(
          () => 'none',
          (error: FileError) => error.code,
        );
      const open = (path: string, mode: 'read' | 'write' | 'create'): Promise<FileHandle> =>
        call<FileHandle>((done) => fs.open(path, mode, done));
      expect(await codeOf(open('a', 'read'))).toBe('ENOENT');
      expect(await codeOf(open('a', 'write'))).toBe('ENOENT');
      expect(await codeOf(open('d/a', 'create'))).toBe('ENOENT');
      await call((done) => fs.makeDirectory('d', done));
      expect(await codeOf(call((done) => fs.makeDirectory('d', done)))).toBe('EEXIST');
      const file = await open('d/a', 'create');
      expect(await codeOf(open('d/a', 'create'))).toBe('EEXIST');
      await call((done) => fs.close(file, done));
      expect(await codeOf(call((done) => fs.unlink('d/b', done)))).toBe('ENOENT');
      expect(await codeOf(call((done) => fs.rename('d/b', 'd/c', done)))).toBe('ENOENT');
      expect(await codeOf(call((done) => fs.list('e', done)))).toBe('ENOENT');
      await call((done) => fs.rename('d/a', 'd/z', done));
      await call((done) => fs.syncDirectory('d', done));
      expect(await call<string[]>((done) => fs.list('d', done))).toEqual(['z']);
      expect(await call<string[]>((done) => fs.list('', done))).toEqual(['d']);
      await call((done) => fs.unlink('d/z', done));
      expect(await call<string[]>((done) => fs.list('d', done))).toEqual([]);
    }));

  it('completes the operations on one file in the order they were called', () =>
    withFileSystem(async (fs, call, fixture) => {
      const file = await call<FileHandle>((done) => fs.open('a', 'create', done));
      const order: number[] = [];
      const last = new Promise<Uint8Array>((resolve) => {
        for (let i = 0; i < 20; i++) {
          fs.write(file, [new Uint8Array(i % 3 === 0 ? 200_000 : 10).fill(i)], 0, () =>
            order.push(i),
          );
          if (i % 4 === 0) fs.sync(file, () => order.push(i + 0.5));
        }
        fs.read(file, 0, 1, (_error, bytes) => resolve(bytes));
      });
      fixture.drive();
      expect((await last)[0]).toBe(19);
      expect(order).toEqual([...order].sort((a, b) => a - b));
      expect(order.length).toBe(25);
      await call((done) => fs.close(file, done));
    }));
});

describe('a short write', () => {
  it('leaves exactly the bytes that were not written', () => {
    const buffers = [
      Uint8Array.of(1, 2, 3),
      Uint8Array.of(),
      Uint8Array.of(4),
      Uint8Array.of(5, 6),
    ];
    for (let written = 0; written <= 6; written++) {
      const rest = remainingBuffers(buffers, written);
      expect([...Buffer.concat(rest)]).toEqual([1, 2, 3, 4, 5, 6].slice(written));
    }
    expect(remainingBuffers(buffers, 6)).toEqual([]);
  });
});
