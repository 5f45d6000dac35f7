import { ETCD, etcdApi, type RpcError } from '@lockstep/adapter-etcd';
import type { ClientStream, EtcdConnection } from '../doors/etcd-connection.ts';
import type { ToldEvent, WatchCursor } from '../invariants/etcd-watches.ts';
import { bytes, EtcdDoorClient, textOf } from './etcd-door-client.ts';

type Response = ReturnType<typeof etcdApi.WATCH.watch.response.decode>;
type Request = ReturnType<typeof etcdApi.WATCH.watch.request.decode>;

/** One watcher, and how far its client has come over all its streams. */
interface Watcher {
  readonly from: string;
  readonly to: string | undefined;
  readonly prevKv: boolean;
  readonly progressNotify: boolean;
  cursor: WatchCursor | undefined;
  /** Its id on the present stream; undefined until that has confirmed it. */
  id: bigint | undefined;
}

/**
 * Watches keys and ranges from now on and from the past; on a new stream it goes on behind the
 * last revision it has seen. Now and then it reads slowly, cancels, or asks how far it has come.
 */
export class EtcdWatcher extends EtcdDoorClient {
  #stream: ClientStream<Request> | undefined;
  #watchers: Watcher[] = [];
  /** Asked for on the present stream and not confirmed: answers come in this order. */
  #asked: Watcher[] = [];

  protected use(connection: EtcdConnection): void {
    const { stream } = this.context;
    const draw = stream.below(100);
    if (this.#stream === undefined) this.#open(connection);
    else if (this.#watchers.length < 3 && draw < 40) this.#create();
    else if (draw < 50) {
      connection.stall();
      this.later(stream.between(10, 2000), () => connection.read());
    } else if (draw < 65) this.#stream.send({ progressRequest: {} });
    else if (draw < 75) this.#cancel();
    else if (draw < 85) {
      this.leave();
      this.#lost();
    }
    this.done(600);
  }

  protected override disconnected(): void {
    this.#lost();
  }

  override settled(): void {
    if (this.#stream === undefined) return;
    for (const { cursor, id } of this.#watchers) {
      if (cursor !== undefined && id !== undefined) {
        this.context.oracle.promises.etcdWatches.settled(cursor);
      }
    }
  }

  #lost(): void {
    this.#stream = undefined;
    this.#asked = [];
    for (const watcher of this.#watchers) watcher.id = undefined;
    // Who was never confirmed begins again from now on.
    this.#watchers = this.#watchers.filter(({ cursor }) => cursor !== undefined);
  }

  #open(connection: EtcdConnection): void {
    const stream = connection.stream(etcdApi.WATCH.watch, this.context.stream.chance(0.3), {
      response: (response) => {
        if (this.#stream === stream) this.#response(response);
      },
      ended: (error: RpcError | undefined) => {
        this.expect('watch', error);
        if (this.#stream === stream) this.#lost();
      },
    });
    this.#stream = stream;
    for (const watcher of this.#watchers) this.#ask(watcher, watcher.cursor?.next ?? 0);
    if (this.#watchers.length > 0) this.count('etcd watchers resumed');
  }

  #create(): void {
    const { stream, oracle, name } = this.context;
    const one = stream.chance(0.4);
    const from = one ? `e${stream.below(8)}` : stream.pick(['e', 'k', 'lock']);
    const to = one
      ? undefined
      : `${from.slice(0, -1)}${String.fromCharCode(from.charCodeAt(from.length - 1) + 1)}`;
    const prevKv = stream.chance(0.5);
    const progressNotify = stream.chance(0.5);
    const { etcdWatches, registers } = oracle.promises;
    const fromPast = stream.chance(0.5);
    const start = Math.max(1, registers.revisionThrough(registers.count) - stream.below(60));
    const range = { from, to };
    const cursor = fromPast ? etcdWatches.cursor(name, range, prevKv, start) : undefined;
    const watcher = { from, to, prevKv, progressNotify, cursor, id: undefined };
    this.#watchers.push(watcher);
    this.#ask(watcher, fromPast ? start : 0);
  }

  #ask(watcher: Watcher, startRevision: number): void {
    const { from, to, prevKv, progressNotify } = watcher;
    this.#asked.push(watcher);
    const createRequest = {
      key: bytes(from),
      rangeEnd: bytes(to ?? ''),
      startRevision,
      progressNotify,
      prevKv,
      filters: [],
      watchId: 0n,
      fragment: false,
    };
    this.#stream?.send({ createRequest });
  }

  #cancel(): void {
    const watcher = this.#watchers[0];
    if (watcher?.id === undefined) return;
    this.#watchers.shift();
    this.#stream?.send({ cancelRequest: { watchId: watcher.id } });
  }

  #response(response: Response): void {
    const { oracle, name } = this.context;
    const { etcdWatches } = oracle.promises;
    const revision = response.header?.revision ?? 0;
    if (response.created) {
      const watcher = this.#asked.shift();
      if (watcher === undefined) return;
      watcher.id = response.watchId;
      watcher.cursor ??= etcdWatches.cursor(name, watcher, watcher.prevKv, revision + 1);
      return;
    }
    const watcher = this.#watchers.find(({ id }) => id === response.watchId);
    if (response.canceled) {
      if (watcher?.cursor !== undefined) this.#cancelled(watcher, response.compactRevision);
      return;
    }
    if (response.events.length > 0) {
      if (watcher?.cursor === undefined) return;
      const state = this.doors?.node.replica?.state;
      const told = response.events.map(toldOf);
      const compacted = state?.compactedRevision(ETCD) ?? Number.POSITIVE_INFINITY;
      etcdWatches.response(watcher.cursor, told, compacted);
      return;
    }
    for (const one of this.#watchers) {
      const meant = response.watchId === -1n || one === watcher;
      if (meant && one.id !== undefined && one.cursor !== undefined) {
        this.count('etcd progress marks');
        etcdWatches.progress(one.cursor, revision);
      }
    }
  }

  /** By the member, which no longer has what comes next: it goes on from what there is. */
  #cancelled(watcher: Watcher, compactRevision: number): void {
    const { cursor } = watcher;
    this.count('etcd watchers compacted');
    if (cursor !== undefined) {
      this.context.oracle.promises.etcdWatches.compacted(cursor, compactRevision);
    }
    watcher.id = undefined;
    this.#ask(watcher, compactRevision);
  }
}

function toldOf({ type, kv, prevKv }: Response['events'][number]): ToldEvent {
  return {
    key: textOf(kv?.key ?? Buffer.alloc(0)),
    revision: kv?.modRevision ?? 0,
    text: type === 0 && kv !== undefined ? textOf(kv.value) : undefined,
    previous: prevKv && textOf(prevKv.value),
  };
}
