import type { FileError, Incarnation } from '@lockstep/model';
import { mark } from '@lockstep/model';
import type { CommandOutcome, HelloOutcome } from '@lockstep/state-machine';
import type { Loop } from './loop.ts';

/** Why a hello is refused for good, and what to do. */
const REFUSALS: Readonly<Record<Exclude<HelloOutcome, 'accepted' | 'old'>, string>> = {
  'unknown-member':
    'this member was removed from the cluster: add it again with an empty directory',
  'other-directory': 'this member is bound to another data directory: remove it and add it again',
  'too-old': 'this software does not support the feature level of the cluster: upgrade it',
};

/**
 * Keeps this member's incarnation alive (design §4): it opens with a `hello`; when it is void, its
 * commands end, the doors close their clients and a new incarnation begins.
 */
export class IncarnationKeeper {
  readonly #loop: Loop;
  #renewing = false;
  /** Its record is gone; the cluster still counts its vote until the configuration follows. */
  #removed = false;

  constructor(loop: Loop) {
    this.#loop = loop;
    loop.expired = (incarnation) => this.#expired(incarnation);
  }

  /** While a new incarnation is being written no command can be numbered. */
  get ready(): boolean {
    return !this.#renewing && !this.#removed;
  }

  /** End of a turn: a removed member stops once the cluster does without it. */
  afterTurn(): void {
    if (this.#removed && !this.#counts) this.#loop.fatal(new Error(REFUSALS['unknown-member']));
  }

  get #counts(): boolean {
    const { configuration, settings } = this.#loop;
    return [...configuration.voters, ...configuration.votersOutgoing].includes(settings.member);
  }

  hello(): void {
    const { forwarder, options } = this.#loop;
    const { incarnation } = forwarder;
    const waiter = {
      applied: (outcome: CommandOutcome) => this.#greeted(incarnation, outcome),
      // Abandoned with everything else: the member stops, or a newer incarnation takes over.
      failed: () => {},
    };
    // Never given up: without it nothing of this member applies.
    forwarder.submit(options.hello(incarnation), waiter, Number.POSITIVE_INFINITY);
    this.#loop.wake();
  }

  #greeted(incarnation: Incarnation, outcome: CommandOutcome): void {
    const answer = outcome.kind === 'done' ? (outcome.result as HelloOutcome) : 'old';
    if (answer === 'accepted') return;
    if (answer === 'old') this.#expired(incarnation);
    else if (answer === 'unknown-member' && this.#counts) this.#removed = true;
    else this.#loop.fatal(new Error(REFUSALS[answer]));
  }

  #expired(incarnation: Incarnation): void {
    const { forwarder, options } = this.#loop;
    if (this.#renewing || this.#removed || incarnation !== forwarder.incarnation) return;
    this.#renewing = true;
    mark('incarnation expired');
    options.log?.(`incarnation ${incarnation} of this member is void; it takes a new one`);
    options.directory.nextIncarnation((error, next) => this.#renewed(error, next));
  }

  #renewed(error: FileError | undefined, next: Incarnation): void {
    const loop = this.#loop;
    if (loop.stopped) return;
    if (error !== undefined) {
      loop.fatal(new Error(`incarnation cannot be written: ${error.message}`));
      return;
    }
    this.#renewing = false;
    loop.forwarder.restart(next);
    loop.renewals.abandon('NOT_READY', next);
    this.hello();
    loop.subscribers.changed();
  }
}
