import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Replica } from '@lockstep/replica';
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';

/** Prometheus text of this member; gauges read the replica when they are scraped. */
export class Metrics {
  readonly #registry = new Registry();
  #rendering: Promise<string> | undefined;
  readonly #loop = monitorEventLoopDelay({ resolution: 10 });

  constructor(replica: Replica) {
    collectDefaultMetrics({ register: this.#registry });
    this.#loop.enable();
    this.#gauge('lockstep_is_leader', '1 on the leader', () =>
      replica.status().role === 'leader' ? 1 : 0,
    );
    this.#gauge('lockstep_has_leader', '1 while a leader is known', () =>
      replica.status().leader === 0 ? 0 : 1,
    );
    this.#gauge('lockstep_term', 'Raft term', () => replica.status().term);
    this.#gauge(
      'lockstep_commit_index',
      'highest committed log index',
      () => replica.status().commitIndex,
    );
    this.#gauge(
      'lockstep_applied_index',
      'highest applied log index',
      () => replica.status().appliedIndex,
    );
    this.#gauge('lockstep_revision', 'current revision', () => replica.state.revision);
    this.#gauge(
      'lockstep_live_bytes',
      'bytes counted against the quota',
      () => replica.state.liveBytes,
    );
    this.#gauge('lockstep_log_bytes', 'bytes of log on disk', () => replica.status().logBytes);
    this.#gauge(
      'lockstep_scrub_bytes',
      'bytes of log and image read again and verified since the start',
      () => replica.status().scrub?.bytes ?? 0,
    );
    this.#gauge(
      'lockstep_scrub_damages',
      'damages found by reading log and image again since the start',
      () => replica.status().scrub?.damages ?? 0,
    );
    this.#gauge(
      'lockstep_pending_commands',
      'commands waiting for the log',
      () => replica.status().pendingCommands,
    );
    this.#gauge(
      'lockstep_event_loop_delay_max_seconds',
      'longest stall since the last scrape',
      () => {
        const seconds = this.#loop.max / 1e9;
        this.#loop.reset();
        return seconds;
      },
    );
  }

  /** Rendering takes milliseconds: whoever asks meanwhile, a thousand times even, shares it. */
  text(): Promise<string> {
    this.#rendering ??= this.#registry.metrics().finally(() => {
      this.#rendering = undefined;
    });
    return this.#rendering;
  }

  #gauge(name: string, help: string, read: () => number): void {
    new Gauge({
      name,
      help,
      registers: [this.#registry],
      collect() {
        this.set(read());
      },
    });
  }
}
