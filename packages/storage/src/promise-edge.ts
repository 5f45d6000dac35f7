import type { FileError } from '@lockstep/model';
import { toFileError } from './node-file-system.ts';

/** The files of a database are damaged; other errors are the device's or the system's. */
export const IMAGE_DAMAGED = 'EBADF';

/**
 * Turns a promise of classic-level into a callback. The callback runs outside of the promise, so
 * that what it throws stops the process instead of becoming a rejection nobody sees.
 */
export function settlePromise<T>(
  promise: Promise<T>,
  done: (error: FileError | undefined, value: T) => void,
): void {
  promise.then(
    (value) => queueMicrotask(() => done(undefined, value)),
    (error) => queueMicrotask(() => done(levelError(error), undefined as T)),
  );
}

/** The innermost code says what happened; classic-level wraps it when it cannot open. */
function levelError(error: unknown): FileError {
  const { cause } = error as { cause?: unknown };
  const { code, message } = toFileError(cause ?? error);
  if (code === 'LEVEL_LOCKED') return { code: 'EBUSY', message };
  const isMissingFile = code === 'LEVEL_IO_ERROR' && message.includes('No such file');
  if (code === 'LEVEL_CORRUPTION' || code === 'LEVEL_NOT_FOUND' || isMissingFile) {
    return { code: IMAGE_DAMAGED, message };
  }
  return { code, message };
}
