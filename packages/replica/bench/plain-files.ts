import type { Done, FileError, FileHandle, FileSystem } from '@lockstep/model';

interface File {
  bytes: Buffer;
  size: number;
}

/**
 * Files in memory and nothing else: no faults, no copy for a power loss, so that a benchmark measures
 * who writes and not the disk. Everything is done when `post` says so.
 */
export class PlainFiles implements FileSystem {
  readonly #post: (run: () => void) => void;
  readonly #files = new Map<string, File>();
  readonly #open = new Map<FileHandle, File>();
  #handles = 0;

  constructor(post: (run: () => void) => void) {
    this.#post = post;
  }

  #done(done: Done): void {
    this.#post(() => done(undefined));
  }

  open(
    path: string,
    mode: 'read' | 'write' | 'create',
    done: (error: FileError | undefined, file: FileHandle) => void,
  ): void {
    const present = this.#files.get(path);
    if ((present === undefined) !== (mode === 'create')) {
      const error = { code: mode === 'create' ? 'EEXIST' : 'ENOENT', message: path };
      this.#post(() => done(error, 0));
      return;
    }
    const file = present ?? { bytes: Buffer.alloc(0), size: 0 };
    this.#files.set(path, file);
    const handle = ++this.#handles;
    this.#open.set(handle, file);
    this.#post(() => done(undefined, handle));
  }

  close(handle: FileHandle, done: Done): void {
    this.#open.delete(handle);
    this.#done(done);
  }

  write(handle: FileHandle, buffers: readonly Uint8Array[], offset: number, done: Done): void {
    const file = this.#open.get(handle)!;
    let at = offset;
    for (const bytes of buffers) {
      resize(file, Math.max(file.size, at + bytes.length));
      file.bytes.set(bytes, at);
      at += bytes.length;
    }
    this.#done(done);
  }

  writeDurably(handle: FileHandle, buffers: readonly Uint8Array[], at: number, done: Done): void {
    this.write(handle, buffers, at, done);
  }

  sync(_handle: FileHandle, done: Done): void {
    this.#done(done);
  }

  read(
    handle: FileHandle,
    offset: number,
    length: number,
    done: (error: FileError | undefined, bytes: Uint8Array) => void,
  ): void {
    const { bytes, size } = this.#open.get(handle)!;
    const found = Uint8Array.from(bytes.subarray(offset, Math.min(size, offset + length)));
    this.#post(() => done(undefined, found));
  }

  size(handle: FileHandle, done: (error: FileError | undefined, size: number) => void): void {
    const { size } = this.#open.get(handle)!;
    this.#post(() => done(undefined, size));
  }

  truncate(handle: FileHandle, size: number, done: Done): void {
    resize(this.#open.get(handle)!, size);
    this.#done(done);
  }

  rename(from: string, to: string, done: Done): void {
    this.#files.set(to, this.#files.get(from)!);
    this.#files.delete(from);
    this.#done(done);
  }

  unlink(path: string, done: Done): void {
    this.#files.delete(path);
    this.#done(done);
  }

  makeDirectory(_path: string, done: Done): void {
    this.#done(done);
  }

  list(path: string, done: (error: FileError | undefined, names: string[]) => void): void {
    const names = [...this.#files.keys()].filter((name) => name.startsWith(`${path}/`));
    this.#post(() =>
      done(
        undefined,
        names.map((name) => name.slice(path.length + 1)),
      ),
    );
  }

  syncDirectory(_path: string, done: Done): void {
    this.#done(done);
  }
}

function resize(file: File, size: number): void {
  if (size > file.bytes.length) {
    const bigger = Buffer.alloc(Math.max(size, 2 * file.bytes.length));
    bigger.set(file.bytes.subarray(0, file.size));
    file.bytes = bigger;
  }
  if (size < file.size) file.bytes.fill(0, size, file.size);
  file.size = size;
}
