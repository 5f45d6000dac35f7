import {
  type FileError,
  type ImageStore,
  type Index,
  InvariantError,
  LockstepError,
  mark,
} from '@lockstep/model';
import type { Configuration, SnapshotMeta } from '@lockstep/raft';
import type { StateMachine } from '@lockstep/state-machine';
import {
  IMAGE_DAMAGED,
  type LogState,
  type LogStore,
  type LogStoreHandlers,
} from '@lockstep/storage';
import { loadImage } from './image-load.ts';
import { type ImagePosition, ImageWriter } from './image-writer.ts';
import { gapIn } from './log-repair.ts';
import { isOnlyVoter } from './next-configuration.ts';
import type { ReplicaOptions, Settings } from './options.ts';

/** What this member may do while parts of its disk are not to be trusted (design §11). */
export interface Trust {
  /** The log is whole, or caught up since: votes count without everybody's. */
  mayVote: boolean;
  outOfSpace: boolean;
}

/** Late-bound: the loop exists only after recovery. */
export interface RecoveryHandlers extends LogStoreHandlers {
  imageWritten(durable: ImagePosition | undefined): void;
}

/** Everything a member starts from. */
export interface Recovered {
  readonly log: LogStore;
  readonly logState: LogState;
  readonly machine: StateMachine;
  readonly writer: ImageWriter;
  readonly position: ImagePosition;
  readonly trust: Trust;
  /** The image was set aside: state must come from the leader before anything else. */
  readonly imageLost: boolean;
  /** A crash came between the pointer to an installed image and the log's restart behind it. */
  readonly installed: SnapshotMeta | undefined;
}

export type RecoveryDone = (
  error: LockstepError | FileError | Error | undefined,
  recovered: Recovered,
) => void;

/**
 * Opens log and image and loads the state (design §11): the log first, then the image named by the
 * data directory. An image that is damaged, ahead of the log or behind its beginning is set aside
 * and must be fetched from a peer; a member without peers then refuses to start.
 */
export function recover(
  options: ReplicaOptions,
  settings: Settings,
  handlers: RecoveryHandlers,
  done: RecoveryDone,
): void {
  new Recovery(options, settings, handlers, done).openLog();
}

class Recovery {
  readonly #options: ReplicaOptions;
  readonly #settings: Settings;
  readonly #handlers: RecoveryHandlers;
  readonly #done: RecoveryDone;
  #log!: LogStore;
  #state!: LogState;

  constructor(
    options: ReplicaOptions,
    settings: Settings,
    handlers: RecoveryHandlers,
    done: RecoveryDone,
  ) {
    this.#options = options;
    this.#settings = settings;
    this.#handlers = handlers;
    this.#done = done;
  }

  openLog(): void {
    const { openLog, identity, bootstrap } = this.#options;
    openLog(identity, bootstrap, this.#handlers, (error, log, state) => {
      if (error !== undefined) {
        this.#fail(error);
        return;
      }
      this.#log = log;
      this.#state = state;
      this.#openImage();
    });
  }

  #openImage(): void {
    const { directory, images } = this.#options;
    const name = directory.image;
    if (name === undefined) {
      createImage(this.#options, 'image-1', (error, store) => {
        if (error !== undefined) this.#fail(error);
        else this.#start(store, undefined, this.#options.joins === true);
      });
      return;
    }
    images.open(name, false, (error, store) => {
      if (error?.code === 'ENOENT') {
        // A crash came between setting it aside and putting an empty one in force.
        this.#startAfresh(name, 'it is not there');
        return;
      }
      if (error?.code === IMAGE_DAMAGED) {
        this.#setAside(name, undefined, error.message);
        return;
      }
      if (error !== undefined) {
        this.#fail(error);
        return;
      }
      const writer = this.#writer(store);
      const machine = this.#options.createStateMachine(writer);
      loadImage(store, machine, (outcome) => {
        switch (outcome.kind) {
          case 'failed':
            this.#fail(outcome.error);
            break;
          case 'empty':
            if (this.#state.firstIndex > 1) this.#setAside(name, store, 'it is empty');
            else this.#start(store, undefined, this.#options.joins === true);
            break;
          case 'damaged':
            this.#setAside(name, store, outcome.reason);
            break;
          case 'loaded':
            this.#loaded(name, store, writer, machine, outcome.position);
        }
      });
    });
  }

  #loaded(
    name: string,
    store: ImageStore,
    writer: ImageWriter,
    machine: StateMachine,
    position: ImagePosition,
  ): void {
    const { index } = position;
    const { firstIndex, lastIndex } = this.#state;
    writer.restart(position);
    if (index > lastIndex) {
      mark('install finished at start');
      this.#finish(machine, writer, this.#logStart, false, position);
    } else if (index < firstIndex - 1) {
      this.#setAside(name, store, `it is at ${index}, the log begins at ${firstIndex}`);
    } else {
      this.#finish(machine, writer, position, false);
    }
  }

  /** Keeps the records for inspection and starts from nothing; state comes from the leader. */
  #setAside(name: string, store: ImageStore | undefined, reason: string): void {
    const { images, log } = this.#options;
    mark('image set aside');
    log?.(`image ${name} is set aside: ${reason}`);
    if (this.#hasNobody(name, reason)) return;
    const close = (done: () => void) => (store === undefined ? done() : store.close(done));
    close(() => {
      images.remove(`${name}-damaged`, () => {
        images.rename(name, `${name}-damaged`, (error) => {
          if (error !== undefined) {
            this.#fail(error);
            return;
          }
          this.#startAfresh(name, reason);
        });
      });
    });
  }

  #isAlone(configuration: Configuration): boolean {
    return isOnlyVoter(configuration, this.#settings.member);
  }

  #hasNobody(name: string, reason: string): boolean {
    if (!this.#isAlone(this.#state.configuration)) return false;
    this.#fail(new InvariantError(`image ${name} cannot be used: ${reason}; no peer to ask`));
    return true;
  }

  #startAfresh(name: string, reason: string): void {
    if (this.#hasNobody(name, reason)) return;
    createImage(this.#options, nextImageName(name), (error, store) => {
      if (error !== undefined) this.#fail(error);
      else this.#start(store, undefined, true);
    });
  }

  #start(store: ImageStore, position: ImagePosition | undefined, imageLost: boolean): void {
    const writer = this.#writer(store);
    const machine = this.#options.createStateMachine(writer);
    this.#finish(machine, writer, position ?? this.#logStart, imageLost);
  }

  get #logStart(): ImagePosition {
    const { snapshotIndex, snapshotTerm, configuration } = this.#state;
    return { index: snapshotIndex, term: snapshotTerm, configuration };
  }

  #finish(
    machine: StateMachine,
    writer: ImageWriter,
    position: ImagePosition,
    imageLost: boolean,
    installed?: SnapshotMeta,
  ): void {
    const log = this.#log;
    if (this.#isLost((installed ?? position).index)) return;
    log.setApplied(position.index, position.configuration);
    const damaged = this.#state.health === 'damaged';
    if (damaged) this.#options.log?.(`the log is damaged: ${this.#state.damage?.reason ?? '?'}`);
    const trust = { mayVote: !damaged, outOfSpace: false };
    const logState = this.#state;
    const parts = { log, logState, machine, writer, position, trust, imageLost, installed };
    this.#done(undefined, parts);
  }

  /** Damage that neither the image nor anybody else can make good. */
  #isLost(imageIndex: Index): boolean {
    const { health, configuration, salvage, damage } = this.#state;
    if (health !== 'damaged' || !this.#isAlone(configuration)) return false;
    const isWhole =
      salvage?.isComplete === true &&
      gapIn(salvage, Math.max(salvage.from, imageIndex + 1)) === undefined;
    if (isWhole) return false;
    const { file = '?', offset = 0, reason = '?' } = damage ?? {};
    this.#fail(new LockstepError('LOG_DAMAGED', file, offset, reason));
    return true;
  }

  #writer(store: ImageStore): ImageWriter {
    return openWriter(store, this.#options, this.#settings, this.#handlers);
  }

  #fail(error: Error | FileError): void {
    this.#done(error, undefined as never);
  }
}

export function openWriter(
  store: ImageStore,
  options: ReplicaOptions,
  settings: Settings,
  handlers: RecoveryHandlers,
): ImageWriter {
  return new ImageWriter(store, {
    clock: options.clock,
    flushMs: settings.imageFlushMs,
    flushBytes: settings.imageFlushBytes,
    syncMs: settings.imageSyncMs,
    syncBytes: settings.imageSyncBytes,
    written: (durable) => handlers.imageWritten(durable),
    failed: (error) => handlers.failed(error),
  });
}

/** `image-7` after `image-6`. */
export function nextImageName(name: string): string {
  return `image-${Number(name.slice(name.lastIndexOf('-') + 1)) + 1}`;
}

/**
 * Makes an empty image and puts it in force. A leftover of that name, made just before a crash and
 * never put in force, is removed first.
 */
function createImage(
  options: ReplicaOptions,
  name: string,
  done: (error: FileError | undefined, store: ImageStore) => void,
): void {
  const { images, directory } = options;
  images.remove(name, () => {
    images.open(name, true, (error, store) => {
      if (error !== undefined) {
        done(error, store);
        return;
      }
      directory.switchImage(name, (failed) => done(failed, store));
    });
  });
}
