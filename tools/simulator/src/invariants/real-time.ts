import type { ByteString, Revision } from '@lockstep/model';
import type { AnyKeyspace } from '@lockstep/state-machine';
import type { World } from '../world.ts';
import type { Registers, Version } from './registers.ts';

/** What one client knows: the newest transaction that its replies have shown it, in their order. */
export interface Witness {
  readonly name: string;
  seen: number;
}

/** A write that must not apply any more. */
interface Bound {
  readonly witness: Witness;
  readonly keyspace: AnyKeyspace;
  readonly key: ByteString;
  readonly text: string;
  readonly count: number;
}

/** A request on its way. */
export interface Invocation {
  /** Newest transaction that any client had been shown when it was sent. */
  readonly floor: number;
}

/**
 * Linearizability as clients of all doors see it, with the canonical history as the witness: what
 * is acknowledged is in it, at one place, behind everything that anybody was shown before the
 * request was sent; a read shows what stood there between its sending and its reply.
 */
export class RealTime {
  readonly #world: World;
  readonly #registers: Registers;
  readonly #bounds: Bound[] = [];
  #floor = -1;
  writes = 0;
  reads = 0;

  constructor(world: World, registers: Registers) {
    this.#world = world;
    this.#registers = registers;
  }

  invoke(): Invocation {
    return { floor: this.#floor };
  }

  /** A write of a value that nobody else writes was acknowledged. Returns its place. */
  wrote(
    witness: Witness,
    keyspace: AnyKeyspace,
    key: ByteString,
    text: string,
    { floor }: Invocation,
  ): Version | undefined {
    this.writes += 1;
    const least = Math.max(floor, witness.seen);
    const versions = this.#registers.of(keyspace, key);
    let at = versions.length - 1;
    while (at >= 0 && versions[at]!.text !== text && versions[at]!.ordinal > least) at -= 1;
    const found = versions[at];
    if (found?.text !== text) {
      const elsewhere = versions.find((version) => version.text === text);
      const what = `${witness.name}: ${key} = ${text.slice(0, 40)} was acknowledged`;
      if (elsewhere === undefined) this.#fail('NoAckedLoss', `${what} but not applied`);
      else this.#fail('LinearizableWrite', `${what} at ${elsewhere.ordinal}, behind ${least}`);
      return undefined;
    }
    if (found.ordinal <= floor || found.ordinal < witness.seen) {
      const what = `${key} = ${text.slice(0, 40)} is transaction ${found.ordinal}`;
      const shown = `anybody had seen ${floor}, it ${witness.seen}`;
      this.#fail('LinearizableWrite', `${witness.name}: ${what}, ${shown}`);
    }
    this.#show(witness, found.ordinal);
    return found;
  }

  /** A linearizable read returned `text`; undefined: absent. */
  read(
    witness: Witness,
    keyspace: AnyKeyspace,
    key: ByteString,
    text: string | undefined,
    { floor }: Invocation,
  ): void {
    this.reads += 1;
    const least = Math.max(floor, witness.seen);
    const versions = this.#registers.of(keyspace, key);
    let end = Number.POSITIVE_INFINITY;
    let found: number | undefined;
    for (let at = versions.length - 1; at >= 0 && end > least; at--) {
      const version = versions[at]!;
      // What one transaction puts and replaces nobody sees. Absence may repeat: the oldest counts.
      if (version.text === text && end > version.ordinal) found = version.ordinal;
      end = version.ordinal;
    }
    // Before its first version the key was absent.
    const first = versions[0]?.ordinal ?? Number.POSITIVE_INFINITY;
    if (text === undefined && first > least) return;
    if (found !== undefined) {
      this.#show(witness, found);
      return;
    }
    const shown = text === undefined ? 'nothing' : text.slice(0, 40);
    const what = `${key} = ${shown} did not stand there after transaction ${least}`;
    this.#fail('LinearizableRead', `${witness.name}: ${what}`);
  }

  /**
   * The session that sent this write attached again since: if it has not taken effect by now it
   * must never do so.
   */
  notAfter(witness: Witness, keyspace: AnyKeyspace, key: ByteString, text: string): void {
    this.#bounds.push({ witness, keyspace, key, text, count: this.#registers.count });
  }

  /** The cluster is at rest: did anything apply that was too late? */
  settled(): void {
    for (const { witness, keyspace, key, text, count } of this.#bounds) {
      const found = this.#registers.of(keyspace, key).find((version) => version.text === text);
      if (found === undefined || found.ordinal < count) continue;
      const what = `${key} = ${text} of an older connection applies at ${found.ordinal}`;
      this.#fail('SessionOrder', `${witness.name}: ${what}, attached again by ${count}`);
    }
  }

  /** A linearizable reply shows the state at `revision`. */
  sawRevision(witness: Witness, revision: Revision, { floor }: Invocation): void {
    const least = this.#registers.revisionThrough(Math.max(floor, witness.seen));
    if (revision < least) {
      const what = `revision ${revision} is shown after ${least}`;
      this.#fail('LinearizableRead', `${witness.name}: ${what}`);
    }
    this.#show(witness, this.#registers.ordinalOf(revision));
  }

  #show(witness: Witness, ordinal: number): void {
    if (ordinal > witness.seen) witness.seen = ordinal;
    if (ordinal > this.#floor) this.#floor = ordinal;
  }

  #fail(invariant: string, message: string): void {
    this.#world.fail(invariant, message);
  }
}
