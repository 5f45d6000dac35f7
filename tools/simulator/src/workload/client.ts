import type { Sequence } from '@lockstep/model';
import type { MemberReplica } from '@lockstep/replica';
import type { CommandOutcome } from '@lockstep/state-machine';
import type { SimNode } from '../node.ts';
import type { Oracle } from '../oracle.ts';
import type { Stream } from '../seed.ts';
import type { Life, World } from '../world.ts';

export interface ClientContext {
  readonly world: World;
  readonly oracle: Oracle;
  readonly node: SimNode;
  readonly stream: Stream;
  readonly thinkMs: number;
  /** Unique among the clients of a run. */
  readonly name: string;
  readonly waits: WaitTable;
}

/** What a queued client is told: the result of its waiter, or undefined. */
export type WaitDone = (result: unknown) => void;

/** Clients queued inside the state machine, by the command that queued them. */
export class WaitTable {
  readonly #waits = new Map<string, { readonly node: number; readonly done: WaitDone }>();

  get size(): number {
    return this.#waits.size;
  }

  add(key: string, node: number, done: WaitDone): void {
    this.#waits.set(key, { node, done });
  }

  ended(key: string, result: unknown): void {
    const wait = this.#waits.get(key);
    this.#waits.delete(key);
    wait?.done(result);
  }

  /** The doors of a member lost their place in the stream, or are gone: their waits end. */
  drop(node: number, tell: boolean): void {
    for (const [key, wait] of [...this.#waits]) {
      if (wait.node !== node) continue;
      this.#waits.delete(key);
      if (tell) wait.done(undefined);
    }
  }
}

/**
 * One closed-loop client of one member: thinks, asks, waits for the answer. When the member goes
 * away it asks again once the member is back.
 */
export abstract class Client {
  readonly context: ClientContext;
  #life: Life | undefined;
  #busy = false;
  #stopped = false;
  count = 0;

  constructor(context: ClientContext) {
    this.context = context;
  }

  start(): void {
    this.#think();
  }

  /** Asks nothing any more. */
  stop(): void {
    this.#stopped = true;
  }

  get busy(): boolean {
    return this.#busy;
  }

  /** One request; calls `this.done()` exactly once unless the life ends before. */
  protected abstract act(replica: MemberReplica): void;
  /** The process at the other end is gone, with everything that hung on the connection. */
  protected disconnected(): void {}

  protected done(): void {
    this.#busy = false;
    this.#think();
  }

  protected submit(
    replica: MemberReplica,
    command: Uint8Array,
    answered: (outcome: CommandOutcome | undefined) => void,
  ): Sequence {
    const { node, oracle } = this.context;
    return oracle.commands.submit(node, replica, command, answered);
  }

  /** Values that no other request uses. */
  protected unique(): string {
    return `${this.context.name}.${++this.count}`;
  }

  #think(): void {
    if (this.#stopped) return;
    const { world, stream, thinkMs } = this.context;
    world.after(stream.exponential(thinkMs) * 1000, undefined, 'client', () => this.#wake());
  }

  #wake(): void {
    const { node } = this.context;
    const { replica, life } = node;
    if (this.#stopped || this.#busy) return;
    if (!node.isUp || replica === undefined) {
      this.#think();
      return;
    }
    if (this.#life !== life) {
      this.#life = life;
      node.onEnd(() => {
        this.disconnected();
        if (this.#busy) this.done();
      });
    }
    this.#busy = true;
    this.act(replica);
  }
}
