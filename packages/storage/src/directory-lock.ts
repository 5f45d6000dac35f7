import { join } from 'node:path';
import type { Done, FileError } from '@lockstep/model';
import { openLevel } from './level-image-directory.ts';

/**
 * Keeps a second process out of a data directory. The lock is that of an empty classic-level
 * database in `lock/`: the kernel gives it back when the process dies in whatever way, so there is
 * no stale lock to judge, and a second open within this process fails as well. EBUSY when taken.
 */
export function lockDirectory(
  path: string,
  done: (error: FileError | undefined, release: (done: Done) => void) => void,
): void {
  openLevel(join(path, 'lock'), { writeBufferBytes: 64 * 1024, cacheBytes: 0 }, (error, store) => {
    if (error?.code === 'EBUSY') {
      const message = `${path} is in use by another process`;
      done({ code: 'EBUSY', message }, undefined as never);
    } else done(error, (released) => store.close(released));
  });
}
