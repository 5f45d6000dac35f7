import type { TraceEvent } from '../src/index.ts';

/**
 * Judges the trace of one process life by the rules that a single member can break: Raft figure 2
 * and §5.2. What several members must agree on is the oracle's.
 */
export class TraceCheck {
  #last: TraceEvent | undefined;
  readonly #seen: Set<string>;

  /** Adds the names of what it judged to `seen`. */
  constructor(seen: Set<string>) {
    this.#seen = seen;
  }

  readonly take = (event: TraceEvent): void => {
    const last = this.#last;
    this.#last = event;
    this.#seen.add(event.name);
    if ((last === undefined) !== (event.name === 'InitState')) this.#wrong('InitState', event);
    if (event.commit > event.lastIndex) this.#wrong('commit beyond the log', event);
    if (last === undefined) return;
    if (event.term < last.term) this.#wrong('term went back', event);
    if (event.commit < last.commit) this.#wrong('commit went back', event);
    const sameTerm = event.term === last.term;
    if (sameTerm && last.vote !== 0 && event.vote !== last.vote) this.#wrong('second vote', event);
    if (event.role !== last.role) this.#checkRole(last, event);
    if (event.name === 'Send') this.#checkSent(event);
  };

  /** Roles change by the event of that name only, and nobody leads who was no candidate. */
  #checkRole(last: TraceEvent, event: TraceEvent): void {
    const names = {
      follower: 'BecomeFollower',
      'pre-candidate': 'BecomePreCandidate',
      candidate: 'BecomeCandidate',
      leader: 'BecomeLeader',
    };
    if (event.name !== names[event.role]) this.#wrong('role changed unseen', event);
    if (event.role === 'leader' && (last.role !== 'candidate' || event.term !== last.term)) {
      this.#wrong('leads without an election', event);
    }
  }

  #checkSent(event: TraceEvent): void {
    const { message, role, term, commit } = event;
    if (message === undefined) throw new Error('trace: sends nothing');
    const leads = message.kind === 'append' || message.kind === 'heartbeat';
    if (leads && (role !== 'leader' || message.term !== term)) this.#wrong('is no leader', event);
    if (leads && message.commit > commit) this.#wrong('announces too much', event);
    if (message.kind === 'vote' && message.term !== term + (message.preVote ? 1 : 0)) {
      this.#wrong('asks for a vote of another term', event);
    }
  }

  #wrong(what: string, event: TraceEvent): void {
    throw new Error(`trace: ${what}: ${JSON.stringify(event)}`);
  }
}
