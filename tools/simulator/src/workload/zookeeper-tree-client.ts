import { AddWatchMode, ErrorCode, OpCode } from '@lockstep/adapter-zookeeper';
import type { TreeView } from '../invariants/tree-views.ts';
import type { ZooKeeperConnection, ZooKeeperReply } from './zookeeper-connection.ts';
import { bodies, Flags, multiError, readStat } from './zookeeper-requests.ts';
import { ZooKeeperSession } from './zookeeper-session.ts';

const NODES = 5;

/** Nodes of every kind, reads with and without watches, multis and syncs, pipelined. */
export class ZooKeeperTreeClient extends ZooKeeperSession {
  protected use(connection: ZooKeeperConnection, view: TreeView): void {
    const { stream, settings } = this.context;
    const draw = stream.below(100);
    if (draw < 60) this.#several(1 + stream.below(Math.min(6, settings.pipeline)));
    else if (draw < 70) this.#synced(view);
    else if (draw < 80) this.#multi();
    else if (draw < 84) this.#addWatch(view);
    else if (draw < 90) this.#shortLived();
    else if (draw < 93) this.#close();
    else if (draw < 96) this.#pause();
    else {
      connection.close();
      this.connection = undefined;
      this.done();
    }
  }

  #path(): string {
    return `/n${this.context.stream.below(NODES)}`;
  }

  /** A few requests without waiting for one another. */
  #several(count: number): void {
    let left = count;
    const one = (): void => {
      left -= 1;
      if (left === 0) this.done();
    };
    for (let i = 0; i < count; i++) this.#request(one);
  }

  #request(done: () => void): void {
    const { stream } = this.context;
    const path = this.#path();
    const text = this.unique();
    const draw = stream.below(100);
    if (draw < 15) {
      const flags = stream.chance(0.2) ? Flags.Ephemeral : Flags.Persistent;
      this.write(OpCode.Create2, bodies.create(path, text, flags), path, text, done);
    } else if (draw < 30) {
      const body = bodies.create(`${path}/c-`, text, Flags.EphemeralSequential);
      this.ask(OpCode.Create, body, done, done);
    } else if (draw < 55) this.#setData(path, text, done);
    else if (draw < 62) this.ask(OpCode.Delete, bodies.delete(path, -1), done, done);
    else if (draw < 80) this.#getData(path, stream.chance(0.5), done);
    else if (draw < 88) this.#exists(path, stream.chance(0.7), done);
    else this.#getChildren(path, stream.chance(0.7), done);
  }

  #setData(path: string, text: string, done: () => void): void {
    const version = this.context.stream.chance(0.8) ? -1 : this.context.stream.below(5);
    const { registers, views } = this.context.oracle.promises;
    const body = bodies.setData(path, text, version);
    this.write(OpCode.SetData, body, path, text, (reply) => {
      if (reply?.error === ErrorCode.Ok) {
        const { mzxid } = readStat(reply.body);
        const there = registers.at(registers.tree, `d${path}`, mzxid);
        if (there?.text !== text || there.revision !== mzxid) {
          views.world.fail('SessionRead', `setData of ${path} is not what mzxid ${mzxid} made`);
        }
      }
      done();
    });
  }

  #getData(path: string, watch: boolean, done: () => void): void {
    const then = (reply: ZooKeeperReply, view: TreeView): void => {
      if (reply.error === ErrorCode.Ok || reply.error === ErrorCode.NoNode) {
        const found = reply.error === ErrorCode.Ok;
        const data = found ? Buffer.from(reply.body.buffer() ?? []).toString('latin1') : undefined;
        view.read(path, data);
        if (watch && found) view.watch('data', path);
      }
      done();
    };
    this.ask(OpCode.GetData, bodies.read(path, watch), then, done);
  }

  #exists(path: string, watch: boolean, done: () => void): void {
    const then = (reply: ZooKeeperReply, view: TreeView): void => {
      const found = reply.error === ErrorCode.Ok;
      if (watch && (found || reply.error === ErrorCode.NoNode)) {
        view.watch(found ? 'data' : 'exist', path);
      }
      done();
    };
    this.ask(OpCode.Exists, bodies.read(path, watch), then, done);
  }

  #getChildren(path: string, watch: boolean, done: () => void): void {
    const then = (reply: ZooKeeperReply, view: TreeView): void => {
      if (reply.error === ErrorCode.Ok) {
        view.children(path, reply.body.strings());
        if (watch) view.watch('child', path);
      }
      done();
    };
    this.ask(OpCode.GetChildren, bodies.read(path, watch), then, done);
  }

  /** Behind a sync a read is linearizable. */
  #synced(view: TreeView): void {
    const path = this.#path();
    const { oracle } = this.context;
    const invoked = oracle.promises.realTime.invoke();
    const nothing = (): void => {};
    let synced = false;
    const sync = (reply: ZooKeeperReply): void => {
      synced = reply.error === ErrorCode.Ok;
    };
    this.ask(OpCode.Sync, bodies.path(path), sync, nothing);
    const done = (): void => this.done();
    const read = (
      reply: ZooKeeperReply,
      _view: TreeView,
      witness: { name: string; seen: number },
    ) => {
      const found = reply.error === ErrorCode.Ok;
      if (synced && (found || reply.error === ErrorCode.NoNode)) {
        const data = found ? Buffer.from(reply.body.buffer() ?? []).toString('latin1') : undefined;
        view.read(path, data);
        oracle.promises.realTime.read(
          witness,
          oracle.promises.registers.tree,
          `d${path}`,
          data,
          invoked,
        );
      }
      done();
    };
    this.ask(OpCode.GetData, bodies.read(path, false), read, done);
  }

  #multi(): void {
    const [checked, set, text] = [this.#path(), this.#path(), this.unique()];
    const done = (): void => this.done();
    const { oracle } = this.context;
    const invoked = oracle.promises.realTime.invoke();
    const body = bodies.multi([
      [OpCode.Check, bodies.delete(checked, -1)],
      [OpCode.SetData, bodies.setData(set, text, -1)],
      [OpCode.Create, bodies.create(`${checked}/c-`, text, Flags.EphemeralSequential)],
    ]);
    const then = (
      reply: ZooKeeperReply,
      _view: TreeView,
      witness: { name: string; seen: number },
    ) => {
      if (reply.error === ErrorCode.Ok && multiError(reply.body) === 0) {
        oracle.promises.realTime.wrote(
          witness,
          oracle.promises.registers.tree,
          `d${set}`,
          text,
          invoked,
        );
      }
      done();
    };
    this.ask(OpCode.Multi, body, then, done);
  }

  #addWatch(view: TreeView): void {
    const done = (): void => this.done();
    const { stream } = this.context;
    const persistent = stream.chance(0.5);
    const mode = persistent ? AddWatchMode.Persistent : AddWatchMode.PersistentRecursive;
    const path = persistent || stream.chance(0.7) ? this.#path() : '/';
    const then = (reply: ZooKeeperReply): void => {
      if (reply.error === ErrorCode.Ok) view.watch(persistent ? 'persistent' : 'recursive', path);
      done();
    };
    this.ask(OpCode.AddWatch, bodies.addWatch(path, mode), then, done);
  }

  /** Nodes that go by themselves: containers without children, and after a time to live. */
  #shortLived(): void {
    const { stream } = this.context;
    const done = (): void => this.done();
    const number = stream.below(3);
    const draw = stream.below(4);
    if (draw === 0) {
      const body = bodies.create(`/box${number}`, '', Flags.Container);
      this.ask(OpCode.CreateContainer, body, done, done);
    } else if (draw === 1) {
      const body = bodies.create(`/box${number}/c-`, '', Flags.EphemeralSequential);
      this.ask(OpCode.Create, body, done, done);
    } else {
      const [path, ttlMs] = [`/ttl${number}`, stream.between(100, 2000)];
      const { oracle, world } = this.context;
      const sentUs = world.nowUs;
      const then = (reply: ZooKeeperReply): void => {
        if (reply.error === ErrorCode.Ok) {
          reply.body.string();
          const { czxid } = readStat(reply.body);
          oracle.promises.expiries.granted(`n${path}`, czxid, ttlMs, sentUs);
        }
        done();
      };
      this.ask(OpCode.CreateTtl, bodies.createTtl(path, this.unique(), ttlMs), then, done);
    }
  }

  #close(): void {
    const done = (): void => this.done();
    const { session, connection } = this;
    this.session = undefined;
    this.connection = undefined;
    if (connection?.isOpen !== true || session === undefined) {
      done();
      return;
    }
    this.count('zookeeper session closed');
    connection.ask(OpCode.CloseSession, bodies.nothing, (reply) => {
      if (reply !== undefined) session.view.reply(reply.zxid);
      connection.close();
      done();
    });
  }

  /** Stands still, as in a long collection of garbage, perhaps until the session is gone. */
  #pause(): void {
    const { stream, world } = this.context;
    const ms = (this.session?.timeoutMs ?? 1000) * 2 * stream.fraction();
    this.pausedUntilUs = world.nowUs + ms * 1000;
    this.count('zookeeper client pauses');
    this.later(ms, () => this.done());
  }
}
