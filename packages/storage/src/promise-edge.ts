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
  if (code === 'LEVEL_IO_ERROR' && message.includes('No space left')) {
    return { code: 'ENOSPC', message };
  }
  // A file that is gone, or shorter than another file says, is met as an error of the system.
  const isWrongFile = code === 'LEVEL_IO_ERROR' && /No such file|Invalid argument/.test(message);
  if (code === 'LEVEL_CORRUPTION' || code === 'LEVEL_NOT_FOUND' || isWrongFile) {
    return { code: IMAGE_DAMAGED, message: `image files are damaged: ${message}` };
  }
  return { code, message };
}
