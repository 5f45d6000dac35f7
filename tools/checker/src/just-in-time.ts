import type { Operation, Value } from './operation.ts';
import { step } from './sequential-model.ts';
import { type Candidate, candidates } from './unknown-outcomes.ts';

/** One way in which history may have gone so far. */
interface Configuration {
  readonly state: Value;
  /** Bit per slot: operations under way that have taken effect. */
  readonly done: bigint;
}

/** The answer that no order explains, those under way then, and what the object may have held. */
export interface Stuck {
  readonly operation: Operation;
  readonly pending: readonly Operation[];
  readonly states: readonly Value[];
}

export interface Judgement {
  /** How many answers were placed. */
  readonly judged: number;
  readonly stuck: Stuck | undefined;
  readonly gaveUp: boolean;
}

/** Configurations beyond this are a search that would not end. */
const CONFIGURATIONS_MAX = 50_000;

const keyOf = ({ state, done }: Configuration): string => `${done} ${typeof state} ${state}`;

/**
 * Forward just-in-time linearization (raft.md 5.1; Lowe 2017; Wing and Gong 1993) of one object's
 * operations, without looking at revisions. Walks calls and returns in time order with the set of
 * all configurations that explain what was answered so far; at a return, operations under way
 * are put in every order until the one that returned has taken effect. Memory and time
 * depend on how many are under way at once, not on the length of the history.
 */
export function linearize(operations: readonly Operation[], answersMax: number): Judgement {
  const walk = new Walk();
  const events = eventsOf(candidates(operations));
  let judged = 0;
  for (const { candidate, isReturn } of events) {
    if (!isReturn) {
      walk.call(candidate);
      continue;
    }
    const before = walk.configurations;
    const outcome = walk.return(candidate);
    if (outcome === 'too many') return { judged, stuck: undefined, gaveUp: true };
    if (outcome === 'none') {
      const states = [...new Set([...before.values()].map(({ state }) => state))];
      const { operation } = candidate;
      const pending = walk.pending().filter((other) => other !== operation);
      return { judged, stuck: { operation, pending, states }, gaveUp: false };
    }
    if (++judged >= answersMax) break;
  }
  return { judged, stuck: undefined, gaveUp: false };
}

interface Event {
  readonly candidate: Candidate;
  readonly isReturn: boolean;
  readonly at: number;
}

/** At equal times calls come first: what touches is concurrent. */
function eventsOf(list: readonly Candidate[]): Event[] {
  const events: Event[] = list.map((candidate) => ({
    candidate,
    isReturn: false,
    at: candidate.start,
  }));
  for (const candidate of list) {
    if (candidate.end === Infinity) continue;
    events.push({ candidate, isReturn: true, at: candidate.end });
  }
  return events.sort((a, b) => a.at - b.at || Number(a.isReturn) - Number(b.isReturn));
}

class Walk {
  configurations = new Map<string, Configuration>();
  readonly #slots: (Candidate | undefined)[] = [];
  readonly #slotOf = new Map<Candidate, number>();
  /** Slots of operations that nobody saw end; they are never free again. */
  #endless = 0n;

  constructor() {
    const first = { state: null, done: 0n };
    this.configurations.set(keyOf(first), first);
  }

  pending(): Operation[] {
    return [...this.#slotOf.keys()].map(({ operation }) => operation);
  }

  call(candidate: Candidate): void {
    const free = this.#slots.indexOf(undefined);
    const slot = free < 0 ? this.#slots.length : free;
    this.#slots[slot] = candidate;
    this.#slotOf.set(candidate, slot);
    if (candidate.end === Infinity) this.#endless |= 1n << BigInt(slot);
  }

  return(candidate: Candidate): 'placed' | 'none' | 'too many' {
    const slot = this.#slotOf.get(candidate) ?? 0;
    const bit = 1n << BigInt(slot);
    const placed = new Map<string, Configuration>();
    const seen = new Set<string>();
    const open = [...this.configurations.values()];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      if ((next.done & bit) !== 0n) {
        const rest = { state: next.state, done: next.done & ~bit };
        placed.set(keyOf(rest), rest);
        continue;
      }
      for (const successor of this.#successors(next)) {
        const key = keyOf(successor);
        if (seen.has(key)) continue;
        seen.add(key);
        open.push(successor);
      }
      if (seen.size > CONFIGURATIONS_MAX) return 'too many';
    }
    if (placed.size === 0) return 'none';
    this.configurations = this.#withoutDominated(placed);
    this.#slots[slot] = undefined;
    this.#slotOf.delete(candidate);
    return 'placed';
  }

  /**
   * Of two configurations that differ only in operations which never end, the one in which fewer of
   * them have happened can do all that the other can.
   */
  #withoutDominated(placed: Map<string, Configuration>): Map<string, Configuration> {
    if (placed.size === 1 || this.#endless === 0n) return placed;
    const minimal = new Map<string, Configuration[]>();
    for (const configuration of placed.values()) {
      const { state, done } = configuration;
      const group = keyOf({ state, done: done & ~this.#endless });
      const least = minimal.get(group) ?? [];
      if (least.some((other) => (other.done & ~done) === 0n)) continue;
      const rest = least.filter((other) => (done & ~other.done) !== 0n);
      minimal.set(group, [...rest, configuration]);
    }
    return new Map([...minimal.values()].flat().map((each) => [keyOf(each), each]));
  }

  *#successors({ state, done }: Configuration): Generator<Configuration> {
    const tried = new Set<string>();
    for (const [candidate, slot] of this.#slotOf) {
      const bit = 1n << BigInt(slot);
      if ((done & bit) !== 0n) continue;
      if (candidate.alike !== undefined) {
        if (tried.has(candidate.alike)) continue;
        tried.add(candidate.alike);
      }
      const after = step(state, candidate.operation);
      if (after === undefined) continue;
      // Where it changes nothing, nobody can tell that it happened: it may as well come later.
      if (candidate.operation.outcome === 'unknown' && after.state === state) continue;
      yield { state: after.state, done: done | bit };
    }
  }
}
