import { type ByteString, fromByteString, type LogEntry } from '@lockstep/model';
import type { ApplySink, StateMachine } from '@lockstep/state-machine';
import { makeStateMachine } from '../node.ts';
import type { Settings } from '../settings.ts';
import type { World } from '../world.ts';
import { digestOf } from './history.ts';

/** Entries that a reloaded machine must treat as the original does. */
const ENTRIES_COMPARED = 15;

/**
 * ReloadEquality: a machine loaded from what the original has put into its image has the same
 * state hash, and gives the same transactions, outcomes and hashes for what follows.
 */
export class ReloadedTwin {
  readonly #world: World;
  readonly #who: string;
  readonly #twin: StateMachine;
  #said: string[] = [];
  #left = ENTRIES_COMPARED;

  constructor(
    world: World,
    settings: Settings,
    who: string,
    original: StateMachine,
    image: ReadonlyMap<ByteString, Uint8Array>,
  ) {
    this.#world = world;
    this.#who = who;
    this.#twin = makeStateMachine({ set: () => {} }, settings);
    const keys = [...image.keys()].sort((a, b) => (a < b ? -1 : 1));
    try {
      for (const key of keys) this.#twin.load(fromByteString(key), image.get(key)!);
      this.#twin.loaded();
    } catch (error) {
      this.#fail(`its image cannot be loaded: ${(error as Error).message}`);
      this.#left = 0;
      return;
    }
    this.#compareHash(original);
  }

  /** False when it has compared enough. */
  get active(): boolean {
    return this.#left > 0;
  }

  /** The original has applied an entry and said this. */
  follow(original: StateMachine, entry: LogEntry, said: readonly string[]): void {
    this.#left -= 1;
    this.#said = [];
    const twin = this.#twin;
    twin.begin(original.appliedIndex, original.appliedTerm, entry, recorder(this.#said));
    while (twin.next()) {
      // One transaction after another, as the original did.
    }
    if (this.#said.join('\n') !== said.join('\n')) {
      const at = this.#said.findIndex((line, i) => line !== said[i]);
      this.#fail(`index ${original.appliedIndex}: ${this.#said[at]}, the original ${said[at]}`);
    }
    this.#compareHash(original);
  }

  #compareHash(original: StateMachine): void {
    const [mine, theirs] = [this.#twin.stateHash(), original.stateHash()];
    if (mine !== theirs) {
      this.#fail(`hash ${mine} at index ${original.appliedIndex}, the original has ${theirs}`);
    }
  }

  #fail(what: string): void {
    this.#left = 0;
    this.#world.fail('ReloadEquality', `a twin of ${this.#who}: ${what}`);
  }
}

/** Notes what a machine reports, in a form that can be compared. */
export function recorder(said: string[], next?: ApplySink): ApplySink {
  return {
    wanted: (origin, incarnation, sequence) => next?.wanted(origin, incarnation, sequence) ?? false,
    transaction(transaction) {
      said.push(`transaction ${digestOf(transaction)}`);
      next?.transaction(transaction);
    },
    result(origin, incarnation, sequence, outcome) {
      const text = outcome.kind === 'void' ? outcome.reason : `done ${outcome.revision}`;
      said.push(`${origin}/${incarnation}/${sequence} ${text}`);
      next?.result(origin, incarnation, sequence, outcome);
    },
    renewed(group, alive) {
      said.push(`renewed ${group.origin}/${group.ticket} ${alive.join()}`);
      next?.renewed(group, alive);
    },
  };
}
