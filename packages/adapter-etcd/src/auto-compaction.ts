import { BinaryWriter, type Clock, type Timer, writeCommandHead } from '@lockstep/model';
import type { CommandWaiter, Replica } from '@lockstep/replica';
import { ETCD } from './keyspace.ts';
import { autoCompactionRevisions } from './options.ts';
import { writeCompact } from './procedures/compact.ts';
import { ProcedureId } from './procedures/outcome.ts';

export interface AutoCompactionOptions {
  readonly replica: Replica;
  readonly clock: Clock;
}

/** Often enough that a fast writer adds some hundred thousand revisions in between. */
const CHECK_MS = 5000;

/**
 * The leader's duty to drop etcd history beyond the last `etcd-auto-compaction-revisions` revisions
 * that changed an etcd key (design §5, §12); other doors' revisions do not count. Whoever leads
 * proposes an ordinary compaction, whether or not its own etcd door is open. A hundredth more is
 * let gather first, so that compactions are few. Close it with the member.
 */
export class AutoCompaction implements CommandWaiter {
  readonly #replica: Replica;
  readonly #clock: Clock;
  #timer: Timer;
  #proposed = false;

  constructor({ replica, clock }: AutoCompactionOptions) {
    this.#replica = replica;
    this.#clock = clock;
    this.#timer = this.#later();
  }

  #later(): Timer {
    return this.#clock.setTimer(CHECK_MS, () => {
      this.#check();
      this.#timer = this.#later();
    });
  }

  #check(): void {
    const { state, serving } = this.#replica;
    if (this.#proposed || !serving || this.#replica.status().role !== 'leader') return;
    const keep = state.option(autoCompactionRevisions);
    // What a running compaction has yet to remove would be counted again.
    if (keep === 0 || state.compacting(ETCD)) return;
    const slack = Math.ceil(keep / 100);
    if (state.historyRevision(ETCD, keep + slack) === 0) return;
    const revision = state.historyRevision(ETCD, keep);
    if (revision <= state.compactedRevision(ETCD)) return;
    const writer = writeCommandHead(new BinaryWriter(16), ProcedureId.Compact, 1);
    writeCompact(writer, revision);
    this.#proposed = true;
    this.#replica.submit(writer.take(), this);
  }

  /** Refused when somebody compacted further meanwhile; either way the next check looks again. */
  applied(): void {
    this.#proposed = false;
  }

  failed(): void {
    this.#proposed = false;
  }

  close(done: () => void): void {
    this.#timer.cancel();
    done();
  }
}
