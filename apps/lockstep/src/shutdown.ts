import type { Logger } from 'pino';

export interface Closable {
  close(done: () => void): void;
}

export interface Door extends Closable {
  /** Takes nothing new and answers what is in flight; a client that waits may put the end off. */
  drain?(done: () => void): void;
}

export interface Stoppable {
  readonly doors: readonly Door[];
  /** What makes work of its own accord, ended before the replica. */
  readonly duties: readonly Closable[];
  readonly replica: Closable & { handOver(done: () => void): void };
  /** Gives the lock on the data directory back. */
  release(): Promise<void>;
}

const SHUTDOWN_MS_MAX = 5000;
/** Blocked clients are cut after this long: they find another member. */
const DRAIN_MS_MAX = 1000;

/**
 * Orderly stop. Leadership goes first, so that clients of the other members notice no more than a
 * hand-over; then the doors answer what is in flight, and say goodbye as their protocols do; then
 * the replica, and the lock on the directory at last. A second signal of the same kind ends it.
 */
export function stopOnSignal(parts: Stoppable, log: Logger): void {
  let first: string | undefined;
  const stop = (signal: string): void => {
    // Ctrl-C under a supervisor gives SIGINT from the terminal and SIGTERM from the supervisor:
    // that is one wish to stop. The same signal twice is impatience.
    if (first === signal) process.exit(1);
    if (first !== undefined) return;
    first = signal;
    log.info(`${signal}: stopping`);
    setTimeout(() => {
      log.warn(`not stopped within ${SHUTDOWN_MS_MAX} ms; leaving the rest to recovery`);
      process.exit(1);
    }, SHUTDOWN_MS_MAX).unref();
    void shutDown(parts).then(() => process.exit(0));
  };
  process.on('SIGINT', () => stop('SIGINT'));
  process.on('SIGTERM', () => stop('SIGTERM'));
  // Only a member that `demo` started has this channel: it must not outlive the demo.
  process.on('disconnect', () => stop('the demo ended'));
}

async function shutDown({ doors, duties, replica, release }: Stoppable): Promise<void> {
  await new Promise<void>((done) => replica.handOver(done));
  const late = new Promise<void>((resolve) => setTimeout(resolve, DRAIN_MS_MAX).unref());
  await Promise.race([Promise.all(doors.map(drain)), late]);
  for (const part of [...doors, ...duties, replica]) {
    await new Promise<void>((done) => part.close(done));
  }
  await release();
}

const drain = (door: Door): Promise<void> =>
  new Promise((done) => {
    if (door.drain === undefined) done();
    else door.drain(done);
  });
