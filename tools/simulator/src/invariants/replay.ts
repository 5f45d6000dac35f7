import type { Index, LogEntry, Term } from '@lockstep/model';
import type { ApplySink } from '@lockstep/state-machine';
import { makeStateMachine } from '../node.ts';
import type { Settings } from '../settings.ts';
import type { World } from '../world.ts';
import type { History } from './history.ts';

/**
 * ReplayEquality: a fresh machine that applies the whole log once more comes to the same state. It
 * keeps every entry, so only runs that ask for it do this.
 */
export class ReplayedLog {
  readonly #entries: { readonly index: Index; readonly term: Term; readonly entry: LogEntry }[] =
    [];
  readonly #world: World;
  readonly #history: History;

  constructor(world: World, history: History) {
    this.#world = world;
    this.#history = history;
    history.listeners.push({
      entry: (index, term, entry) => void this.#entries.push({ index, term, entry }),
    });
  }

  check(settings: Settings): void {
    const machine = makeStateMachine({ set: () => {} }, settings);
    for (const { index, term, entry } of this.#entries) {
      machine.begin(index, term, entry, SILENT);
      while (machine.next()) {
        // One transaction after another.
      }
      const [mine, theirs] = [machine.stateHash(), this.#history.hashAt(index)];
      if (mine === theirs) continue;
      this.#world.fail('ReplayEquality', `${mine} at index ${index}, the members had ${theirs}`);
      return;
    }
  }
}

const SILENT: ApplySink = {
  wanted: () => false,
  transaction: () => {},
  result: () => {},
  renewed: () => {},
};
