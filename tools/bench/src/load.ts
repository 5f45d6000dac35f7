import { createHistogram } from 'node:perf_hooks';

/** One closed-loop client: `next` sends a request and calls `done` when its answer is there. */
export interface LoadClient {
  next(done: (error?: Error) => void): void;
  close(): void;
}

export interface LoadResult {
  readonly clients: number;
  readonly operations: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  readonly errors: number;
}

/**
 * Drives the clients, each with one request in flight, for `warmupMs` and then for `measureMs`.
 * Latencies are recorded in microseconds.
 */
export function drive(
  clients: readonly LoadClient[],
  warmupMs: number,
  measureMs: number,
): Promise<LoadResult> {
  return new Promise((resolve) => {
    const histogram = createHistogram();
    let errors = 0;
    let operations = 0;
    let measuring = false;
    let running = clients.length;
    let stopping = false;
    let startedAt = 0;
    let stoppedAt = 0;
    const finish = (): void => {
      for (const client of clients) client.close();
      const seconds = (stoppedAt - startedAt) / 1000;
      resolve({
        clients: clients.length,
        operations,
        perSecond: operations / seconds,
        p50Ms: histogram.percentile(50) / 1000,
        p99Ms: histogram.percentile(99) / 1000,
        maxMs: histogram.max / 1000,
        errors,
      });
    };
    const loop = (client: LoadClient): void => {
      const sentAt = performance.now();
      client.next((error) => {
        if (error !== undefined) errors++;
        else if (measuring) {
          operations++;
          histogram.record(Math.max(1, Math.round((performance.now() - sentAt) * 1000)));
        }
        // A client that fails at once must not spin.
        if (stopping) {
          if (--running === 0) finish();
        } else if (error !== undefined) setTimeout(() => loop(client), 10);
        else loop(client);
      });
    };
    for (const client of clients) loop(client);
    setTimeout(() => {
      measuring = true;
      startedAt = performance.now();
    }, warmupMs);
    setTimeout(() => {
      measuring = false;
      stopping = true;
      stoppedAt = performance.now();
    }, warmupMs + measureMs);
  });
}
