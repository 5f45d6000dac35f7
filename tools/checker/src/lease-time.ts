import type { Operation } from './operation.ts';

/**
 * ρ: how far the rates of two machines' clocks may differ, as a fraction (raft.md 8.2). A lease
 * holds, for whoever holds it, until the moment its last acknowledged renewal was sent plus its
 * time × (1 − ρ).
 */
export const CLOCK_DRIFT = 0.01;

export const endOf = (sentNs: number, ttlMs: number): number =>
  sentNs + ttlMs * 1e6 * (1 - CLOCK_DRIFT);

/** Until when a lease certainly held, and the renewal that says so. */
export interface Hold {
  readonly until: number;
  readonly renewal: Operation;
}

/**
 * The leases of a history. A renewal that was acknowledged had been applied while the lease lived,
 * whenever its answer came, so that the lease cannot have ended before it plus its time.
 */
export class LeaseTable {
  readonly #holds = new Map<string, Hold>();
  /** When somebody first asked to give it back. */
  readonly #revoked = new Map<string, number>();

  constructor(operations: readonly Operation[]) {
    for (const operation of operations) {
      const { op, key, call, outcome } = operation;
      if (op === 'revoke' && outcome !== 'fail') {
        this.#revoked.set(key, Math.min(call, this.#revoked.get(key) ?? call));
      }
      if ((op !== 'grant' && op !== 'renew') || outcome !== 'ok') continue;
      if (operation.result === false) continue;
      const until = endOf(call, operation.ttlMs);
      if (until > (this.#holds.get(key)?.until ?? 0)) {
        this.#holds.set(key, { until, renewal: operation });
      }
    }
  }

  /** Undefined when no renewal was ever acknowledged. */
  hold(lease: string): Hold | undefined {
    const hold = this.#holds.get(lease);
    const revoked = this.#revoked.get(lease) ?? Number.POSITIVE_INFINITY;
    return hold && { until: Math.min(hold.until, revoked), renewal: hold.renewal };
  }
}
