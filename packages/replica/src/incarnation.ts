import type { FileError, Incarnation } from '@lockstep/model';
import type { Loop } from './loop.ts';

/**
 * Keeps this member's incarnation alive (design §4): it opens with a `hello`; when it is void, its
 * commands end, the doors close their clients and a new incarnation begins.
 */
export class IncarnationKeeper {
  readonly #loop: Loop;
  #renewing = false;

  constructor(loop: Loop) {
    this.#loop = loop;
    loop.expired = (incarnation) => this.#expired(incarnation);
  }

  /** While a new incarnation is being written no command can be numbered. */
  get ready(): boolean {
    return !this.#renewing;
  }

  hello(): void {
    const { forwarder, options } = this.#loop;
    const command = options.hello(forwarder.incarnation);
    // Never given up: without it nothing of this member applies.
    forwarder.submit(command, undefined, Number.POSITIVE_INFINITY);
    this.#loop.wake();
  }

  #expired(incarnation: Incarnation): void {
    const { forwarder, options } = this.#loop;
    if (this.#renewing || incarnation !== forwarder.incarnation) return;
    this.#renewing = true;
    options.mark?.('incarnation expired');
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
