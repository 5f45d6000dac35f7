import { Event_EventType } from '../../../packages/adapter-etcd/src/gen/kv.ts';
import type { WatchResponse } from '../../../packages/adapter-etcd/src/gen/rpc.ts';
import { Etcd } from '../../support/etcd.ts';
import { pass } from '../../support/until.ts';
import { Actor, type Stage } from '../stage.ts';

export const WATCHED = 'chaos/';
const WATCHED_END = Buffer.from('chaos0');

/**
 * Watches everything under a prefix through one member. When the stream breaks it goes on behind
 * the last revision it saw, so that all of it is one sequence without gap or repetition.
 */
export class EtcdWatcher extends Actor {
  readonly #from: number;
  #last: number;
  #opened = false;
  error: string | undefined;

  constructor(stage: Stage, name: string, home: number, from: number) {
    super(stage, 'etcd', name, home);
    this.#from = from;
    this.#last = from - 1;
  }

  /** The greatest revision it was told. */
  get last(): number {
    return this.#last;
  }

  /** It can know that it has everything up to there. */
  complete(revision: number): void {
    this.note({ op: 'progress', key: this.name }, { revision });
  }

  protected async session(): Promise<void> {
    if (!this.#opened) {
      this.#opened = true;
      this.note({ op: 'watch', key: this.name, prefix: WATCHED, from: this.#from }, {});
    }
    const etcd = new Etcd(this.member().ports.etcd);
    try {
      await etcd.ready(2000);
      const startRevision = this.#last + 1;
      const watch = etcd.watch({ key: Buffer.from(WATCHED), rangeEnd: WATCHED_END, startRevision });
      watch.onResponse = (response) => {
        watch.responses.length = 0;
        this.#take(response);
        if (response.canceled) {
          this.error = `canceled: ${response.cancelReason}`;
          watch.close();
        }
      };
      while (!this.stage.stopping && watch.error === undefined) await pass(50);
      watch.close();
    } finally {
      etcd.close();
    }
  }

  #take(response: WatchResponse): void {
    for (const { type, kv } of response.events) {
      if (kv === undefined) continue;
      const value = type === Event_EventType.DELETE ? null : kv.value.toString();
      const revision = kv.modRevision;
      const subject = kv.key.toString();
      this.note({ op: 'event', key: this.name, subject, value }, { revision });
      this.#last = Math.max(this.#last, revision);
    }
  }
}
