import { mark } from '@lockstep/model';
import type { LogAppender } from './log-appender.ts';
import type { Loop } from './loop.ts';
import type { StallMeter } from './stall-meter.ts';

/** Whether this member had better not lead, and why; handing over (design §10, §11). */
export class Fitness {
  readonly #loop: Loop;
  readonly #stalls: StallMeter;
  readonly #appender: LogAppender;

  constructor(loop: Loop, stalls: StallMeter, appender: LogAppender) {
    this.#loop = loop;
    this.#stalls = stalls;
    this.#appender = appender;
  }

  /** Log or image cannot grow: leadership moves, nothing more is acknowledged meanwhile. */
  space(outOfSpace: boolean): void {
    this.#loop.trust.outOfSpace = outOfSpace;
    mark('log space');
    this.#handOverIfUnfit();
    this.#loop.wake();
  }

  /** Once per tick. */
  tick(): void {
    const { log, writer, trust } = this.#loop;
    const outOfSpace = log.outOfSpace || writer.store.outOfSpace === true;
    if (outOfSpace !== trust.outOfSpace) this.space(outOfSpace);
    else this.#handOverIfUnfit();
  }

  /** Once per election timeout: there may be nobody to hand over to. */
  #handOverIfUnfit(): void {
    const { leads, transfers, nowMs, settings, options, configuration } = this.#loop;
    const reason = leads && configuration.voters.length > 1 ? this.#reason(nowMs) : undefined;
    if (reason === undefined || !transfers.volunteer(nowMs, settings.electionMs)) return;
    this.#stalls.forgive();
    mark('hand-over');
    options.log?.(`leadership is handed over: ${reason}`);
  }

  #reason(nowMs: number): string | undefined {
    if (this.#stalls.isUnfit(nowMs)) return 'its event loop stalls';
    if (this.#appender.stuckMs(nowMs) > this.#loop.settings.electionMs) return 'the disk hangs';
    return this.#loop.trust.outOfSpace ? 'no space is left on its disk' : undefined;
  }
}
