import type { MemberReplica } from '@lockstep/replica';
import type { ImageSink, StateMachine } from '@lockstep/state-machine';
import type { OpenLog } from '@lockstep/storage';
import { CLOCK_RATE_MAX } from './clock.ts';
import { Commands } from './invariants/commands.ts';
import { Configurations } from './invariants/configurations.ts';
import { Contacts } from './invariants/contacts.ts';
import { Cores } from './invariants/cores.ts';
import { History } from './invariants/history.ts';
import { Incarnations } from './invariants/incarnations.ts';
import { Logs } from './invariants/logs.ts';
import { MachineWatch } from './invariants/machines.ts';
import { Promises } from './invariants/promises.ts';
import { Streams } from './invariants/streams.ts';
import { Tokens } from './invariants/tokens.ts';
import { Versions } from './invariants/versions.ts';

import type { SimNode } from './node.ts';
import type { Observer } from './observer.ts';
import type { Settings } from './settings.ts';
import type { Life, World } from './world.ts';

/** All invariants of one run, fed by the nodes as they go. */
export class Oracle implements Observer {
  readonly history: History;
  readonly configurations: Configurations;
  readonly logs: Logs;
  readonly commands: Commands;
  readonly tokens: Tokens;
  readonly streams: Streams;
  readonly versions: Versions;
  readonly promises: Promises;
  /** How often each rare place of production code was reached. */
  readonly marks = new Map<string, number>();
  /** What else is worth counting. */
  readonly counts = new Map<string, number>();
  /** Called when a node's member is open, and when its life is over. */
  readonly openings: ((node: SimNode, replica: MemberReplica) => void)[] = [];
  readonly cores: Cores;
  readonly contacts: Contacts;
  readonly #world: World;
  readonly #settings: Settings;
  readonly #stream;

  constructor(world: World, settings: Settings) {
    this.#world = world;
    this.#settings = settings;
    this.#stream = world.stream('twins');
    this.history = new History(world);
    const founders = Array.from({ length: settings.members }, (_, at) => at + 1);
    this.configurations = new Configurations(this.history, founders);
    this.logs = new Logs(world, this.history, this.configurations, CLOCK_RATE_MAX);
    this.contacts = new Contacts(world, settings);
    this.cores = new Cores(world, this.logs, this.configurations, this.contacts);
    this.commands = new Commands(world, this.history);
    this.tokens = new Tokens(world, this.history);
    this.streams = new Streams(world, this.history);
    new Incarnations(world, this.history);
    this.promises = new Promises(world, this.history);
    this.versions = new Versions(world, this.promises.registers);
  }

  log(node: SimNode, life: Life, open: OpenLog): OpenLog {
    return this.logs.watch(node, life, (identity, bootstrap, handlers, done) =>
      open(identity, bootstrap, handlers, (error, log, state) => {
        if (error === undefined) this.count(`log opened ${state.health}`);
        done(error, log, state);
      }),
    );
  }

  machine(
    node: SimNode,
    life: Life,
    image: ImageSink,
    make: (image: ImageSink) => StateMachine,
  ): StateMachine {
    const options = {
      world: this.#world,
      settings: this.#settings,
      history: this.history,
      logs: this.logs,
      streams: this.streams,
      stream: this.#stream,
    };
    const watch = new MachineWatch(options, node, life);
    return watch.attach(make(watch.sink(image)));
  }

  opened(node: SimNode, replica: MemberReplica): void {
    this.streams.opened(node, replica);
    for (const opening of this.openings) opening(node, replica);
  }

  wiped(node: SimNode): void {
    this.logs.wiped(node);
  }

  ended(node: SimNode): void {
    this.cores.ended(node);
    this.streams.ended(node);
    this.commands.ended(node);
  }

  /** Production code reached a rare place, in a member or, undefined, in a client. */
  mark(node: SimNode | undefined, name: string): void {
    this.marks.set(name, (this.marks.get(name) ?? 0) + 1);
    if (node === undefined) return;
    this.#world.trace(() => `n${node.id} mark: ${name}`);
    // ImageWhole: as long as the medium is, image and log fit together after any crash.
    if (name !== 'image set aside' || node.damaged || node.isWiped) return;
    this.#world.fail('ImageWhole', `member ${node.id} sets its image aside, which nothing damaged`);
  }

  count(name: string): void {
    this.counts.set(name, (this.counts.get(name) ?? 0) + 1);
  }

  /** Keeps the greatest value seen. */
  most(name: string, value: number): void {
    this.counts.set(name, Math.max(this.counts.get(name) ?? 0, value));
  }
}
