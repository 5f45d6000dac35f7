import type { Message, RaftConfig, TraceEvent, TraceName } from './contract.ts';
import type { Core } from './core.ts';

/**
 * Tells `RaftConfig.trace` what happens. Exists only when somebody listens; every place that calls
 * it does so through `?.`, so that nothing is built otherwise.
 */
export class Tracer {
  readonly #core: Core;
  readonly #sink: NonNullable<RaftConfig['trace']>;

  constructor(core: Core, sink: NonNullable<RaftConfig['trace']>) {
    this.#core = core;
    this.#sink = sink;
  }

  event(name: TraceName, message?: Message): void {
    const { id, role, term, vote, log, membership } = this.#core;
    this.#sink({
      name,
      member: id,
      role,
      term,
      vote,
      commit: log.commit,
      lastIndex: log.lastIndex,
      configuration: membership.configuration,
      message: message === undefined ? undefined : plain(message),
    });
  }
}

/** The message without the bytes of its entries. */
function plain(message: Message): TraceEvent['message'] {
  if (message.kind !== 'append') return message;
  return { ...message, entries: message.entries.length };
}
