import type { Index, MemberId, Term } from '@lockstep/model';
import { LIMITS } from '@lockstep/model';
import type { Configuration } from '@lockstep/raft';
import type { MemberReplica } from '@lockstep/replica';
import type { SimNode } from '../node.ts';
import type { World } from '../world.ts';
import type { Configurations } from './configurations.ts';
import type { Contacts } from './contacts.ts';
import type { Logs } from './logs.ts';

/** What is looked at only now and then costs a status of the member. */
const BOUNDS_EVERY = 64;

/** A core as it stood after the last event that touched it. */
interface Seen {
  readonly replica: MemberReplica;
  term: Term;
  leads: boolean;
  commit: Index;
  applied: Index;
  /** Index of the configuration that was compared last. */
  configuredAt: Index;
  events: number;
}

/**
 * The core's invariants, after each event and for the touched member only: ElectionSafety with
 * LeaderCompleteness, TermMonotone, CommitMonotone, AppliedOrder (applied ≤ commit ≤ last),
 * ConfigIsFunction, WipedRefused and ResourceBounds (reference §4.4).
 */
export class Cores {
  readonly #world: World;
  readonly #logs: Logs;
  readonly #configurations: Configurations;
  readonly #contacts: Contacts;
  readonly #seen = new Map<MemberId, Seen>();

  constructor(world: World, logs: Logs, configurations: Configurations, contacts: Contacts) {
    this.#contacts = contacts;
    this.#world = world;
    this.#logs = logs;
    this.#configurations = configurations;
  }

  ended(node: SimNode): void {
    this.#seen.delete(node.id);
  }

  /** An event of this member is over. */
  touched(node: SimNode): void {
    const { replica } = node;
    if (replica === undefined || node.stopped !== undefined) return;
    const { raft } = replica;
    let seen = this.#seen.get(node.id);
    if (seen?.replica !== replica) {
      const { term, commit } = raft;
      const fresh = { leads: false, applied: 0, configuredAt: -1, events: 0 };
      seen = { replica, term, commit, ...fresh };
      this.#seen.set(node.id, seen);
    }
    const led = seen.leads && seen.term === raft.term;
    this.#checkTerm(node, seen);
    if (led && seen.leads && raft.commit > seen.commit) {
      const applied = [seen.applied, replica.state.appliedIndex] as const;
      this.#logs.commits(node, raft.commit, applied);
    }
    this.#contacts.touched(node, replica);
    this.#checkIndexes(node, seen);
    if (seen.events++ % BOUNDS_EVERY === 0) this.#checkBounds(node, replica);
  }

  #checkTerm(node: SimNode, seen: Seen): void {
    const { role, term } = seen.replica.raft;
    if (term < seen.term) {
      this.#fail('TermMonotone', `member ${node.id} goes from term ${seen.term} to ${term}`);
    }
    const leads = role === 'leader';
    if (leads && (!seen.leads || term !== seen.term)) this.#logs.leads(node, term);
    else if (!leads && seen.leads) this.#logs.follows(node);
    seen.term = term;
    seen.leads = leads;
  }

  #checkIndexes(node: SimNode, seen: Seen): void {
    const { commit, lastIndex } = seen.replica.raft;
    const applied = seen.replica.state.appliedIndex;
    if (commit < seen.commit) {
      this.#fail('CommitMonotone', `member ${node.id} goes from ${seen.commit} to ${commit}`);
    }
    if (applied < seen.applied) {
      this.#fail('AppliedOrder', `member ${node.id} goes from ${seen.applied} to ${applied}`);
    }
    if (commit > lastIndex) {
      this.#fail('AppliedOrder', `member ${node.id}: commit ${commit}, last ${lastIndex}`);
    }
    if (commit > 0 && node.isWiped) {
      this.#fail('WipedRefused', `member ${node.id}, on an empty disk, has commit ${commit}`);
    }
    seen.commit = commit;
    if (applied === seen.applied) return;
    seen.applied = applied;
    if (applied > commit) {
      this.#fail('AppliedOrder', `member ${node.id}: applied ${applied}, commit ${commit}`);
    }
    this.#checkConfiguration(node, seen, applied);
  }

  #checkConfiguration(node: SimNode, seen: Seen, applied: Index): void {
    const expected = this.#configurations.at(applied);
    if (expected.index === seen.configuredAt) return;
    seen.configuredAt = expected.index;
    const [have, want] = [seen.replica.raft.status().configuration, expected.configuration];
    if (textOf(have) === textOf(want)) return;
    const what = `${textOf(have)} at index ${applied}, the history ${textOf(want)}`;
    this.#fail('ConfigIsFunction', `member ${node.id} has ${what}`);
  }

  /** What a member holds for its clients and peers stays within its limits. */
  #checkBounds(node: SimNode, replica: MemberReplica): void {
    const { pendingCommands, lastIndex, peers } = replica.status();
    if (pendingCommands > LIMITS.memberCommandsPendingMax) {
      this.#fail('ResourceBounds', `member ${node.id} holds ${pendingCommands} commands`);
    }
    for (const { id, match } of peers) {
      if (match <= lastIndex) continue;
      this.#fail('ResourceBounds', `member ${node.id}: match ${match} of ${id}, last ${lastIndex}`);
    }
  }

  #fail(invariant: string, message: string): void {
    this.#world.fail(invariant, message);
  }
}

function textOf(configuration: Configuration): string {
  const { voters, votersOutgoing, learners, learnersNext, autoLeave } = configuration;
  const lists = [voters, votersOutgoing, learners, learnersNext].map((ids) => ids.join());
  return `[${lists.join('|')}${autoLeave ? ' auto-leave' : ''}]`;
}
