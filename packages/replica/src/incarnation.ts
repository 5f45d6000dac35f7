import {
  type ErrorCode,
  type FileError,
  type Incarnation,
  LockstepError,
  mark,
} from '@lockstep/model';
import type { Configuration } from '@lockstep/raft';
import type { CommandOutcome, HelloOutcome } from '@lockstep/state-machine';
import type { Loop } from './loop.ts';
import { isMember } from './next-configuration.ts';

/** Why a hello is refused for good. */
const REFUSALS = {
  'unknown-member': 'MEMBER_REMOVED',
  'other-directory': 'MEMBER_HAS_OTHER_DIRECTORY',
  'too-old': 'SOFTWARE_TOO_OLD',
} as const satisfies Record<Exclude<HelloOutcome, 'accepted' | 'old'>, ErrorCode>;

/**
 * Keeps this member's incarnation alive (design §4): it opens with a `hello`; when it is void, its
 * commands end, the doors close their clients and a new incarnation begins.
 */
export class IncarnationKeeper {
  readonly #loop: Loop;
  #renewing = false;
  /** Its record is gone; the cluster still counts its vote until the configuration follows. */
  #removed = false;
  #seen: Configuration | undefined;

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
    const { configuration, membership } = this.#loop;
    // The tombstone is looked for with another configuration only: it comes before it.
    const tombstone = configuration !== this.#seen && membership.isRemoved;
    this.#seen = configuration;
    if (!tombstone && !membership.isDismissed && !(this.#removed && !this.#counts)) return;
    this.#loop.fatal(new LockstepError('MEMBER_REMOVED'));
  }

  /** Others may need its vote, or its log. */
  get #counts(): boolean {
    const { configuration, settings } = this.#loop;
    return isMember(configuration, settings.member);
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
    else if (answer === 'unknown-member' && this.#counts) this.#endCommands();
    else this.#loop.fatal(new LockstepError(REFUSALS[answer]));
  }

  /** Its record is gone for good: sent again, what waits would be void again, without end. */
  #endCommands(): void {
    const { forwarder, renewals, subscribers } = this.#loop;
    mark('removed member still votes');
    this.#removed = true;
    forwarder.abandon('NOT_READY');
    renewals.abandon('NOT_READY', forwarder.incarnation);
    subscribers.changed();
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
    // Doors that are told may ask again at once: the hello must have the first number.
    loop.forwarder.restart(next);
    this.hello();
    this.#renewing = false;
    loop.renewals.abandon('NOT_READY', next);
    loop.subscribers.changed();
  }
}
