import { mark } from '@lockstep/model';

/** So many stalls within so many election timeouts make a member unfit to lead. */
const STALLS_MAX = 3;
const WINDOW_TIMEOUTS = 30;

/**
 * How often this member's event loop stood still for so long that the others nearly elected
 * somebody else: a garbage collection, a paused process, a starved machine. One stall is forgiven;
 * a leader that stalls again and again costs its clients an election sooner or later, and had
 * better hand over before (design §10).
 */
export class StallMeter {
  readonly #electionMs: number;
  #stalledMs: number[] = [];

  constructor(electionMs: number) {
    this.#electionMs = electionMs;
  }

  /** A timer came `lateMs` behind its time. */
  note(lateMs: number, nowMs: number): void {
    if (lateMs < this.#electionMs / 2) return;
    mark('event loop stalled');
    this.#stalledMs.push(nowMs);
    if (this.#stalledMs.length > STALLS_MAX) this.#stalledMs.shift();
  }

  /** It has handed over: where all members stall, leadership would else go round among them. */
  forgive(): void {
    this.#stalledMs = [];
  }

  /** Asked once per tick. */
  isUnfit(nowMs: number): boolean {
    const since = nowMs - WINDOW_TIMEOUTS * this.#electionMs;
    while (this.#stalledMs.length > 0 && this.#stalledMs[0]! < since) this.#stalledMs.shift();
    return this.#stalledMs.length >= STALLS_MAX;
  }
}
