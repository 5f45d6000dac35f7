import type { Done, FileError, FileSystem } from '@lockstep/model';

/** Runs asynchronous steps one after another; the first error ends the run. */
export function runSteps(steps: readonly ((next: Done) => void)[], done: Done): void {
  let at = 0;
  const next = (error: FileError | undefined): void => {
    const step = steps[at];
    at += 1;
    if (error !== undefined || step === undefined) done(error);
    else step(next);
  };
  next(undefined);
}

/** Passes success on, and the one error code that the caller expects. */
export function tolerate(code: string, done: Done): Done {
  return (error) => done(error?.code === code ? undefined : error);
}

/** Reads a file, at most `lengthMax` bytes from its start. ENOENT when there is none. */
export function readFile(
  fileSystem: FileSystem,
  path: string,
  lengthMax: number,
  done: (error: FileError | undefined, bytes: Uint8Array) => void,
): void {
  const none = new Uint8Array(0);
  fileSystem.open(path, 'read', (openError, file) => {
    if (openError !== undefined) return done(openError, none);
    const finish = (error: FileError | undefined, bytes: Uint8Array): void => {
      fileSystem.close(file, (closeError) => done(error ?? closeError, bytes));
    };
    fileSystem.size(file, (sizeError, sizeBytes) => {
      if (sizeError !== undefined) return finish(sizeError, none);
      fileSystem.read(file, 0, Math.min(sizeBytes, lengthMax), finish);
    });
  });
}
