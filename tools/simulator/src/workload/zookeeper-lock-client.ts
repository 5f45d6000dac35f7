import { ErrorCode, OpCode } from '@lockstep/adapter-zookeeper';
import type { TreeView } from '../invariants/tree-views.ts';
import type { ZooKeeperConnection, ZooKeeperReply } from './zookeeper-connection.ts';
import { bodies, Flags, multiError, readStat } from './zookeeper-requests.ts';
import { ZooKeeperSession } from './zookeeper-session.ts';

const LOCKS = 2;

interface Contender {
  readonly lock: number;
  readonly path: string;
  readonly czxid: number;
  /** It was the lowest number when its client looked last. */
  held: boolean;
}

/**
 * The recipe of all ZooKeeper lock libraries: an ephemeral sequential node, the lowest number
 * holds, everybody else watches the one before. What the lock protects is written in a multi that
 * checks the holder's node, perhaps long after the session is gone.
 */
export class ZooKeeperLockClient extends ZooKeeperSession {
  #contender: Contender | undefined;
  /** Looks again when it fires. */
  #before: string | undefined;

  protected use(_connection: ZooKeeperConnection, _view: TreeView): void {
    const { stream } = this.context;
    const contender = this.#contender;
    if (contender === undefined) {
      this.#enter(stream.below(LOCKS));
      return;
    }
    if (!contender.held) {
      if (this.#before === undefined || stream.chance(0.1)) this.#look(contender);
      else this.done();
      return;
    }
    const draw = stream.below(100);
    if (draw < 50) this.#guarded(contender);
    else if (draw < 75) this.#leave(contender);
    else this.#pause();
  }

  protected override told(_type: number, path: string): void {
    if (path === this.#before) this.#before = undefined;
  }

  protected override expired(): void {
    // A holder that slept over it does not know.
    if (this.#contender?.held !== true) this.#contender = undefined;
    this.#before = undefined;
  }

  #enter(lock: number): void {
    const done = (): void => this.done();
    const directory = `/lock${lock}`;
    const resource = `/guarded${lock}`;
    const create = (path: string) => bodies.create(path, '', Flags.Persistent);
    this.ask(
      OpCode.Create,
      create(directory),
      () => {},
      () => {},
    );
    this.ask(
      OpCode.Create,
      create(resource),
      () => {},
      () => {},
    );
    const body = bodies.create(`${directory}/c-`, '', Flags.EphemeralSequential);
    const then = (reply: ZooKeeperReply): void => {
      if (reply.error === ErrorCode.Ok) {
        const path = reply.body.string() ?? '';
        const { czxid } = readStat(reply.body);
        this.#contender = { lock, path, czxid, held: false };
        this.#before = undefined;
      }
      done();
    };
    this.ask(OpCode.Create2, body, then, done);
  }

  #look(contender: Contender): void {
    const done = (): void => this.done();
    const directory = `/lock${contender.lock}`;
    const listed = (reply: ZooKeeperReply, view: TreeView): void => {
      if (reply.error !== ErrorCode.Ok) {
        this.#contender = undefined;
        done();
        return;
      }
      const names = reply.body.strings().sort();
      view.children(directory, names);
      const at = names.indexOf(contender.path.slice(directory.length + 1));
      if (at < 0) this.#contender = undefined;
      else if (at === 0) {
        contender.held = true;
        this.count('lock taken at the zookeeper door');
      } else {
        this.#watch(`${directory}/${names[at - 1]}`);
        return;
      }
      done();
    };
    this.ask(OpCode.GetChildren, bodies.read(directory, false), listed, done);
  }

  #watch(path: string): void {
    const done = (): void => this.done();
    const then = (reply: ZooKeeperReply, view: TreeView): void => {
      if (reply.error === ErrorCode.Ok) {
        view.watch('data', path);
        this.#before = path;
      } else if (reply.error === ErrorCode.NoNode) view.watch('exist', path);
      done();
    };
    this.ask(OpCode.Exists, bodies.read(path, true), then, done);
  }

  #guarded({ lock, path, czxid }: Contender): void {
    const done = (): void => this.done();
    const text = `${czxid}@${path}#${this.unique()}`;
    const resource = `/guarded${lock}`;
    const { oracle } = this.context;
    const invoked = oracle.promises.realTime.invoke();
    const body = bodies.multi([
      [OpCode.Check, bodies.delete(path, -1)],
      [OpCode.SetData, bodies.setData(resource, text, -1)],
    ]);
    const then = (
      reply: ZooKeeperReply,
      _view: TreeView,
      witness: { name: string; seen: number },
    ) => {
      const error = reply.error === ErrorCode.Ok ? multiError(reply.body) : reply.error;
      if (error === ErrorCode.Ok) {
        oracle.promises.realTime.wrote(
          witness,
          oracle.promises.registers.tree,
          `d${resource}`,
          text,
          invoked,
        );
        this.count('guarded write');
      } else if (error === ErrorCode.NoNode) {
        this.count('stale holder is refused');
        this.#contender = undefined;
      }
      done();
    };
    this.ask(OpCode.Multi, body, then, done);
  }

  #leave({ path }: Contender): void {
    this.#contender = undefined;
    const done = (): void => this.done();
    this.ask(OpCode.Delete, bodies.delete(path, -1), done, done);
  }

  #pause(): void {
    const { stream, world } = this.context;
    const ms = (this.session?.timeoutMs ?? 1000) * 2 * stream.fraction();
    this.pausedUntilUs = world.nowUs + ms * 1000;
    this.count('paused lock holder');
    this.later(ms, () => this.done());
  }
}
