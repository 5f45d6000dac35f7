/** The same reason is said once in this time; how often it came meanwhile is said with the next. */
const REPEAT_MS = 60_000;
/** Whoever finds ever new ways of being refused fills no log. */
const LINES_MAX = 20;
const LINES_WINDOW_MS = 10_000;
const REASONS_MAX = 100;

interface Reason {
  saidMs: number;
  times: number;
}

/** Who was refused and why, at a bounded rate: refused peers come again and again. */
export class RefusalLog {
  readonly #say: (text: string) => void;
  readonly #nowMs: () => number;
  readonly #reasons = new Map<string, Reason>();
  #windowMs = Number.NEGATIVE_INFINITY;
  #lines = 0;
  #unsaid = 0;

  /** `nowMs` is monotonic. */
  constructor(say: (text: string) => void, nowMs: () => number) {
    this.#say = say;
    this.#nowMs = nowMs;
  }

  add(text: string): void {
    const nowMs = this.#nowMs();
    const known = this.#reasons.get(text);
    if (known !== undefined && nowMs - known.saidMs < REPEAT_MS) {
      known.times++;
      return;
    }
    if (nowMs - this.#windowMs >= LINES_WINDOW_MS) this.#openWindow(nowMs);
    if (++this.#lines > LINES_MAX) {
      this.#unsaid++;
      return;
    }
    const times = known?.times ?? 0;
    this.#say(times === 0 ? text : `${text} (and ${times} times since the last line)`);
    this.#reasons.delete(text);
    this.#reasons.set(text, { saidMs: nowMs, times: 0 });
    if (this.#reasons.size <= REASONS_MAX) return;
    for (const oldest of this.#reasons.keys()) {
      this.#reasons.delete(oldest);
      return;
    }
  }

  #openWindow(nowMs: number): void {
    if (this.#unsaid > 0) this.#say(`${this.#unsaid} more connections were refused`);
    this.#windowMs = nowMs;
    this.#lines = 0;
    this.#unsaid = 0;
  }
}
