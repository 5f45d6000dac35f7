import type { ImageStore, Index } from '@lockstep/model';
import { mark } from '@lockstep/model';
import type { SnapshotMeta } from '@lockstep/raft';
import type { StateMachine } from '@lockstep/state-machine';
import { loadImage } from './image-load.ts';
import type { ImageWriter } from './image-writer.ts';
import type { Loop } from './loop.ts';
import { openWriter, type RecoveryHandlers } from './recovery.ts';

export type InstallDone = (failure: string | undefined) => void;

/**
 * Puts a received image in force (design §11): its hash is verified by loading it, then the data
 * directory's pointer moves, then raft lets the log restart behind it. A crash before the pointer
 * leaves the old state; after it, recovery finds the image ahead of the log and finishes.
 */
export class SnapshotInstall {
  readonly #loop: Loop;
  readonly #handlers: RecoveryHandlers;
  readonly #name: string;
  /** As announced, then as found inside the image. */
  #meta: SnapshotMeta;
  readonly #done: InstallDone;

  constructor(
    loop: Loop,
    handlers: RecoveryHandlers,
    name: string,
    meta: SnapshotMeta,
    done: InstallDone,
  ) {
    this.#loop = loop;
    this.#handlers = handlers;
    this.#name = name;
    this.#meta = meta;
    this.#done = done;
  }

  begin(store: ImageStore): void {
    const loop = this.#loop;
    const writer = openWriter(store, loop.options, loop.settings, this.#handlers);
    const machine = loop.options.createStateMachine(writer);
    loadImage(store, machine, (outcome) => {
      if (loop.stopped) return;
      if (outcome.kind !== 'loaded') {
        this.#done(outcome.kind === 'damaged' ? outcome.reason : outcome.kind);
      } else if (outcome.position.index < this.#meta.index) {
        this.#done(`image is at ${outcome.position.index}, announced was ${this.#meta.index}`);
      } else {
        // The sender announced the last batch whose end it had seen; the view may hold a later one.
        this.#meta = outcome.position;
        this.#switch(machine, writer);
      }
    });
  }

  #switch(machine: StateMachine, writer: ImageWriter): void {
    const loop = this.#loop;
    loop.applier.hold(true);
    if (loop.applier.midEntry) {
      // The entry in progress ends within a few turns; nothing new begins.
      loop.options.scheduler.post(() => {
        if (!loop.stopped) this.#switch(machine, writer);
      });
      return;
    }
    if (this.#meta.index < this.#appliedByRaft || this.#overtaken(machine)) {
      loop.applier.hold(loop.imageLost);
      loop.wake();
      mark('snapshot overtaken by the log');
      this.#done('overtaken by the log');
      return;
    }
    loop.options.directory.switchImage(this.#name, (error) => {
      if (loop.stopped) return;
      if (error !== undefined) loop.fatal(new Error(`data directory: ${error.message}`));
      else this.#inForce(machine, writer);
    });
  }

  get #appliedByRaft(): Index {
    return this.#loop.raft.status().applied;
  }

  #overtaken(machine: StateMachine): boolean {
    return !this.#loop.imageLost && machine.appliedIndex <= this.#loop.machine.appliedIndex;
  }

  #inForce(machine: StateMachine, writer: ImageWriter): void {
    const loop = this.#loop;
    const former = { machine: loop.machine, writer: loop.writer };
    const { configuration } = this.#meta;
    mark('snapshot installed');
    loop.options.log?.(`the state received at ${this.#meta.index} is in force`);
    loop.machine = machine;
    loop.writer = writer;
    loop.imageLost = false;
    writer.restart(this.#meta);
    loop.applier.replace(machine, configuration);
    loop.compaction.restart(this.#meta);
    if (this.#meta.index > this.#appliedByRaft) loop.raft.snapshotInstalled(this.#meta);
    loop.log.setApplied(this.#meta.index, configuration);
    const { forwarder } = loop;
    const last = machine.lastSequence(loop.settings.member, forwarder.incarnation);
    forwarder.skipTo(last, loop.nowMs);
    loop.membership.updatePeers(configuration);
    loop.subscribers.skipped(former.machine.revision, machine.revision);
    former.writer.retire((store) => store.close(() => this.#done(undefined)));
    loop.wake();
  }
}
