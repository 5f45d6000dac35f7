import type { ByteString, LogEntry } from '@lockstep/model';
import { toByteString } from '@lockstep/model';
import type { ApplySink, ImageSink, StateMachine } from '@lockstep/state-machine';
import type { SimNode } from '../node.ts';
import type { Stream } from '../seed.ts';
import type { Settings } from '../settings.ts';
import type { Life, World } from '../world.ts';
import type { History, HistoryCursor } from './history.ts';
import { LeaseLifts } from './lifts.ts';
import { checkLockQueues } from './lock-queues.ts';
import type { Logs } from './logs.ts';
import { ReloadedTwin, recorder } from './reload.ts';
import type { Streams } from './streams.ts';

const TWIN_SHARE = 0.01;
/** A twin costs a load of the image: so many records per entry, on average, at most. */
const TWIN_RECORDS = 5;

export interface MachineWatchOptions {
  readonly world: World;
  readonly settings: Settings;
  readonly history: History;
  readonly logs: Logs;
  readonly streams: Streams;
  readonly stream: Stream;
}

/** Follows one state machine: what it applies goes to the history, its image to twins. */
export class MachineWatch {
  readonly image = new Map<ByteString, Uint8Array>();
  readonly #options: MachineWatchOptions;
  readonly #node: SimNode;
  readonly #life: Life;
  #twin: ReloadedTwin | undefined;

  constructor(options: MachineWatchOptions, node: SimNode, life: Life) {
    this.#options = options;
    this.#node = node;
    this.#life = life;
  }

  /** The image as the machine sees it, noted on its way. */
  sink(image: ImageSink): ImageSink {
    return {
      set: (key, value) => {
        if (value === undefined) this.image.delete(key);
        else this.image.set(key, value);
        image.set(key, value);
      },
    };
  }

  attach(machine: StateMachine): StateMachine {
    const { history, world, settings } = this.#options;
    const who = `member ${this.#node.id}`;
    const lifts = new LeaseLifts(world, settings.electionMs);
    const load = machine.load.bind(machine);
    const loaded = machine.loaded.bind(machine);
    const begin = machine.begin.bind(machine);
    const next = machine.next.bind(machine);
    const cursor: HistoryCursor = { index: machine.appliedIndex, transactions: 0, results: 0 };
    let applying: LogEntry | undefined;
    let said: string[] = [];
    // What a fresh machine put into its image makes way for what is loaded.
    let loading = false;
    machine.load = (key, value) => {
      if (!loading) this.image.clear();
      loading = true;
      this.image.set(toByteString(key), value);
      load(key, value);
    };
    machine.loaded = () => {
      loaded();
      cursor.index = machine.appliedIndex;
      const expected = history.hashAt(cursor.index);
      if (this.#life.alive && expected !== undefined && expected !== machine.stateHash()) {
        this.#options.world.fail('ReloadEquality', `${who}: image at ${cursor.index} differs`);
      }
    };
    machine.begin = (index, term, entry, sink) => {
      if (!this.#life.alive) {
        begin(index, term, entry, sink);
        return;
      }
      applying = entry;
      said = [];
      this.#options.logs.applies(this.#node, index, term);
      history.begin(who, cursor, index, term, entry);
      const watched = this.#watched(who, cursor, sink);
      const told = this.#twin === undefined ? watched : recorder(said, watched);
      lifts.watch(who, machine, entry, () => begin(index, term, entry, told));
    };
    machine.next = () => {
      const more = next();
      if (!more && this.#life.alive && applying !== undefined) {
        history.finish(who, cursor, machine.stateHash());
        checkLockQueues(world, who, machine);
        this.#compare(who, machine, applying, said);
        applying = undefined;
      }
      return more;
    };
    return machine;
  }

  #watched(who: string, cursor: HistoryCursor, sink: ApplySink): ApplySink {
    const { history, streams } = this.#options;
    const node = this.#node;
    const life = this.#life;
    return {
      wanted: (origin, incarnation, sequence) => sink.wanted(origin, incarnation, sequence),
      transaction(transaction) {
        if (!life.alive) return;
        const ordinal = history.transaction(who, cursor, transaction);
        streams.said(node, transaction, ordinal);
        sink.transaction(transaction);
        if (life.alive) streams.checkSeen(node, ordinal);
      },
      result(origin, incarnation, sequence, outcome) {
        if (!life.alive) return;
        history.result(who, cursor, `${origin}/${incarnation}/${sequence}`, outcome);
        sink.result(origin, incarnation, sequence, outcome);
      },
      renewed: (group, alive) => sink.renewed(group, alive),
    };
  }

  #compare(who: string, machine: StateMachine, entry: LogEntry, said: readonly string[]): void {
    const { world, settings, stream } = this.#options;
    if (this.#twin !== undefined) {
      this.#twin.follow(machine, entry, said);
      if (!this.#twin.active) this.#twin = undefined;
    } else if (stream.chance(Math.min(TWIN_SHARE, TWIN_RECORDS / this.image.size))) {
      this.#twin = new ReloadedTwin(world, settings, who, machine, this.image);
      if (!this.#twin.active) this.#twin = undefined;
    }
  }
}
