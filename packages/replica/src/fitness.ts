import { mark } from '@lockstep/model';
import type { LogAppender } from './log-appender.ts';
import type { Loop } from './loop.ts';
import type { StallMeter } from './stall-meter.ts';

/** Election timeouts without a leader after which a member campaigns that could not serve. */
const LAST_RESORT_ELECTIONS = 4;

/** Whether this member had better not lead, and why; handing over (design §10, §11). */
export class Fitness {
  readonly #loop: Loop;
  readonly #stalls: StallMeter;
  readonly #appender: LogAppender;
  /** When the leader was last heard. */
  #ledMs: number;

  constructor(loop: Loop, stalls: StallMeter, appender: LogAppender) {
    this.#loop = loop;
    this.#stalls = stalls;
    this.#appender = appender;
    this.#ledMs = loop.nowMs;
  }

  /** Nobody was heard to lead for so long that also a member that could not serve may try. */
  get longWithoutLeader(): boolean {
    const { nowMs, settings } = this.#loop;
    return nowMs - this.#ledMs > LAST_RESORT_ELECTIONS * settings.electionMs;
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
    const { log, writer, trust, raft, contact, settings, nowMs } = this.#loop;
    if (contact.heardWithin(raft.leader, settings.electionMs, nowMs)) this.#ledMs = nowMs;
    const outOfSpace = log.outOfSpace || writer.store.outOfSpace === true;
    if (outOfSpace !== trust.outOfSpace) this.space(outOfSpace);
    else this.#handOverIfUnfit();
  }

  /** Once per election timeout: there may be nobody to hand over to. */
  #handOverIfUnfit(): void {
    const { raft, transfers, nowMs, settings, options, configuration } = this.#loop;
    const leads = raft.role === 'leader';
    const reason = leads && configuration.voters.length > 1 ? this.#reason(nowMs) : undefined;
    if (reason === undefined || !transfers.volunteer(nowMs, settings.electionMs)) return;
    this.#stalls.forgive();
    mark('hand-over');
    options.log?.(`leadership is handed over: ${reason}`);
  }

  #reason(nowMs: number): string | undefined {
    if (this.#loop.imageLost) return 'its image is being replaced';
    if (this.#stalls.isUnfit(nowMs)) return 'its event loop stalls';
    if (this.#appender.stuckMs(nowMs) > this.#loop.settings.electionMs) return 'the disk hangs';
    return this.#loop.trust.outOfSpace ? 'no space is left on its disk' : undefined;
  }
}
