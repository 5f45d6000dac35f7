import type { MemberReplica } from '@lockstep/replica';
import type { Defects } from '../defects.ts';
import { MemberDoors } from '../doors/member-doors.ts';
import type { Witness } from '../invariants/real-time.ts';
import type { SimNode } from '../node.ts';
import type { Oracle } from '../oracle.ts';
import type { Stream } from '../seed.ts';
import type { Settings } from '../settings.ts';
import type { World } from '../world.ts';

/** The doors of all members that are open. */
export class Doorways {
  readonly #world: World;
  readonly #settings: Settings;
  readonly #oracle: Oracle;
  readonly #defects: Defects;
  readonly #doors = new Map<SimNode, MemberDoors>();

  constructor(world: World, settings: Settings, oracle: Oracle, defects: Defects) {
    this.#defects = defects;
    this.#world = world;
    this.#settings = settings;
    this.#oracle = oracle;
  }

  opened(node: SimNode, replica: MemberReplica): void {
    const watched = this.#oracle.commands.watched(node, replica);
    const given = this.#defects.door?.(watched, node.id) ?? watched;
    const doors = new MemberDoors(this.#world, this.#settings, node, given);
    this.#doors.set(node, doors);
    node.onEnd(() => {
      if (this.#doors.get(node) === doors) this.#doors.delete(node);
    });
  }

  /** Some member's doors, or those of the first that is open with `first`. */
  pick(stream: Stream, first: boolean): MemberDoors | undefined {
    const open = [...this.#doors.values()].filter((doors) => doors.isOpen);
    if (first) return open.find(({ node }) => node.id === 1);
    return open[stream.below(Math.max(1, open.length))];
  }

  /** The network breaks the clients' connections to one member. */
  reset(stream: Stream): void {
    this.pick(stream, false)?.reset();
  }
}

export interface DoorContext {
  readonly world: World;
  readonly oracle: Oracle;
  readonly settings: Settings;
  readonly doorways: Doorways;
  readonly stream: Stream;
  /** Unique among the clients of a run. */
  readonly name: string;
}

/**
 * A client of the doors: thinks, does one thing that takes any number of requests, thinks again.
 * It is bound to no member; when its connection goes it takes another.
 */
export abstract class DoorClient {
  protected readonly context: DoorContext;
  protected stopped = false;
  #busy = false;
  #count = 0;

  constructor(context: DoorContext) {
    this.context = context;
  }

  get busy(): boolean {
    return this.#busy;
  }

  start(): void {
    this.#think(this.context.settings.thinkMs);
  }

  /** Begins nothing any more; what is begun comes to its end. */
  stop(): void {
    this.stopped = true;
  }

  /** The cluster is at rest: are all promises to this client kept? */
  settled(): void {}

  /** Lets go of what it keeps alive. */
  release(): void {}

  /** Calls `done` exactly once, at once or later. */
  protected abstract act(): void;

  protected done(thinkMs = this.context.settings.thinkMs): void {
    this.#busy = false;
    this.#think(thinkMs);
  }

  /** A value that no other request writes. */
  protected unique(): string {
    return `${this.context.name}.${++this.#count}`;
  }

  protected later(ms: number, run: () => void): void {
    this.context.world.after(ms * 1000, undefined, 'client', run);
  }

  protected count(name: string): void {
    this.context.oracle.count(name);
  }

  #think(thinkMs: number): void {
    if (this.stopped) return;
    this.later(this.context.stream.exponential(thinkMs), () => {
      if (this.stopped || this.#busy) return;
      this.#busy = true;
      this.act();
    });
  }
}

/** A client with one connection at a time, at whatever member. */
export abstract class ConnectedDoorClient<C> extends DoorClient {
  /** What the replies of the present connection have shown, in their order. */
  protected witness: Witness;
  protected connection: C | undefined;

  constructor(context: DoorContext) {
    super(context);
    this.witness = { name: context.name, seen: -1 };
  }

  protected act(): void {
    const connection = this.connected();
    if (connection === undefined) this.done(200);
    else this.use(connection);
  }

  /** One round on an open connection; calls `done` once. */
  protected abstract use(connection: C): void;
  /** The present connection, or a new one; undefined when no member takes it. */
  protected abstract connected(): C | undefined;
  /** The connection ended by itself, with all its calls. */
  protected disconnected(): void {}
}
