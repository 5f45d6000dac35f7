import { ErrorCode, OpCode, Xid } from '@lockstep/adapter-zookeeper';
import { LeaseKind } from '@lockstep/model';
import { CLOCK_RATE_MAX, CLOCK_RATE_MIN } from '../clock.ts';
import type { MemberDoors } from '../doors/member-doors.ts';
import type { Invocation, Witness } from '../invariants/real-time.ts';
import { TreeView, type WatchKind } from '../invariants/tree-views.ts';
import { DoorClient, type DoorContext } from './door-client.ts';
import {
  type Body,
  type Credentials,
  ZooKeeperConnection,
  type ZooKeeperReply,
} from './zookeeper-connection.ts';

const NO_PASSWORD = new Uint8Array(16);

interface Session extends Credentials {
  readonly view: TreeView;
  readonly witness: Witness;
}

/** A write of which nobody knows whether it took effect. */
interface UnknownWrite {
  readonly key: string;
  readonly text: string;
}

/**
 * A session of the ZooKeeper door as client libraries keep it: pings by a clock of its own,
 * reconnects to any member, sets its watches again, and begins afresh once it has expired.
 */
export abstract class ZooKeeperSession extends DoorClient {
  protected session: Session | undefined;
  protected connection: ZooKeeperConnection | undefined;
  readonly #clockRate: number;
  #unknown: UnknownWrite[] = [];
  #sessions = 0;
  #pinging = false;
  #doors: MemberDoors | undefined;
  /** When the last ping that was answered was sent. */
  #heardUs = 0;
  /** While set the client stands still: it neither pings nor looks. */
  protected pausedUntilUs = 0;

  constructor(context: DoorContext) {
    super(context);
    this.#clockRate = 0.9 + 0.2 * context.stream.fraction();
  }

  protected act(): void {
    if (this.connection?.isOpen === true && this.session !== undefined) {
      this.use(this.connection, this.session.view);
    } else this.#connect();
  }

  /** One round on an attached connection; calls `done` once. */
  protected abstract use(connection: ZooKeeperConnection, view: TreeView): void;
  /** A watch fired. */
  protected told(_type: number, _path: string): void {}
  /** The session is over: its ephemeral nodes are gone. */
  protected expired(): void {}

  override settled(): void {
    if (this.connection?.isOpen === true) this.session?.view.settled();
  }

  #connect(): void {
    const { doorways, stream, world, name, settings } = this.context;
    const doors = doorways.pick(stream, false);
    if (doors === undefined) {
      this.done(200);
      return;
    }
    const { session } = this;
    const timeoutMs = stream.between(2 * settings.electionMs, 4000);
    const credentials = session ?? { id: 0n, password: NO_PASSWORD, timeoutMs };
    const sentUs = world.nowUs;
    let isDue = true;
    let view: TreeView | undefined;
    const answered = (): void => {
      if (isDue) this.done();
      isDue = false;
    };
    const connection = new ZooKeeperConnection(doors, credentials, session?.view.zxid ?? 0, {
      attached: (given) => {
        if (given.timeoutMs === 0) this.#hasExpired(credentials.id);
        else view = this.#attached(given, sentUs);
        answered();
      },
      event: (type, path, zxid) => {
        view?.event(type, path, zxid);
        this.told(type, path);
      },
      closed: () => {
        if (this.connection === connection) this.connection = undefined;
        answered();
      },
      wrong: (what) => world.fail('SessionOrder', `${name} ${what}`),
    });
    this.connection = connection;
    this.#doors = doors;
  }

  #attached(given: Credentials, sentUs: number): TreeView {
    const { oracle, name } = this.context;
    oracle.tokens.renewed(LeaseKind.ZooKeeper, given.id, given.timeoutMs, sentUs);
    this.#heardUs = sentUs;
    const known = this.session;
    const view = known?.view ?? new TreeView(oracle.promises.views, `${name}/${++this.#sessions}`);
    if (known === undefined) {
      this.session = { ...given, view, witness: { name, seen: -1 } };
    } else {
      if (known.id !== given.id) this.#fail(`asked for ${known.id}, got ${given.id}`);
      this.count('zookeeper session reattached');
      for (const { key, text } of this.#unknown) {
        oracle.promises.realTime.notAfter(known.witness, oracle.promises.registers.tree, key, text);
      }
      this.#setWatches(known.view);
    }
    this.#unknown = [];
    if (!this.#pinging) this.#ping();
    return view;
  }

  #hasExpired(id: bigint): void {
    const { sessions } = this.context.oracle.promises;
    if (!sessions.hasEnded(LeaseKind.ZooKeeper, id)) {
      this.#fail(`is told that ${id} has expired, which it has not`);
    }
    this.count('zookeeper session expired');
    this.sessionOver();
  }

  /** Forgets the session; the next connection opens another. */
  protected sessionOver(): void {
    this.connection?.close();
    this.connection = undefined;
    this.session = undefined;
    this.#unknown = [];
    this.expired();
  }

  #setWatches(view: TreeView): void {
    const of = (kind: WatchKind) =>
      view.watches.filter((watch) => watch.kind === kind).map(({ path }) => path);
    if (view.watches.length === 0) return;
    this.count('zookeeper watches set again');
    view.restoring();
    const write: Body = (frames) => {
      frames.long(view.zxid).strings(of('data')).strings(of('exist')).strings(of('child'));
      frames.strings(of('persistent')).strings(of('recursive'));
    };
    const answer = (reply: ZooKeeperReply | undefined): void => {
      if (reply === undefined) return;
      view.reply(reply.zxid);
      view.restored();
    };
    this.connection?.ask(OpCode.SetWatches2, write, answer, Xid.SetWatches);
  }

  /** Every third of the timeout by the client's clock, as long as there is a session. */
  #ping(): void {
    const { session, connection } = this;
    this.#pinging = session !== undefined && !this.stopped;
    if (session === undefined || this.stopped) return;
    const { world } = this.context;
    const delayMs = session.timeoutMs / 3 / this.#clockRate;
    const untilUs = Math.max(world.nowUs + delayMs * 1000, this.pausedUntilUs);
    world.at(untilUs, undefined, 'client', () => this.#ping());
    if (connection?.isOpen !== true || world.nowUs < this.pausedUntilUs) return;
    const sentUs = world.nowUs;
    const { id, timeoutMs } = session;
    connection.ask(
      OpCode.Ping,
      () => {},
      (reply) => {
        if (reply === undefined || this.session?.id !== id) return;
        session.view.reply(reply.zxid);
        this.#promised(id, timeoutMs, sentUs);
      },
      Xid.Ping,
    );
  }

  /**
   * A ping is answered before its renewal, but not when the last one that was confirmed is older
   * than two thirds of the timeout: what is left by the worst of clocks, and less a sweep, is
   * certain, as long as the client itself has not been silent for long.
   */
  #promised(id: bigint, timeoutMs: number, sentUs: number): void {
    const { world, oracle } = this.context;
    const since = this.#heardUs;
    this.#heardUs = sentUs;
    if (world.nowUs - since > timeoutMs * 500) return;
    // A machine that slept with its clock does not know how old what it knows is: the renewal that
    // it was told of last may be most of a timeout older than the ping before.
    const awakeSinceUs = this.#doors?.node.clock.awakeSinceUs ?? 0;
    if (awakeSinceUs > 0 && awakeSinceUs > since - timeoutMs * 1000) return;
    const leastMs = timeoutMs - ((timeoutMs * 2) / 3) * (CLOCK_RATE_MAX / CLOCK_RATE_MIN);
    const certainMs = Math.max(0, leastMs - 200);
    oracle.tokens.renewed(LeaseKind.ZooKeeper, id, certainMs, sentUs);
  }

  /** Sends one request; `then` gets a reply that may be refused, and is not called without one. */
  protected ask(
    type: number,
    body: Body,
    then: (reply: ZooKeeperReply, view: TreeView, witness: Witness) => void,
    gone: () => void,
  ): void {
    const { session, connection } = this;
    if (connection?.isOpen !== true || session === undefined) {
      gone();
      return;
    }
    connection.ask(type, body, (reply) => {
      if (reply === undefined) {
        gone();
        return;
      }
      if (reply.zxid > 0) session.view.reply(reply.zxid);
      if (reply.error === ErrorCode.SessionExpired && this.session === session) {
        this.sessionOver();
      }
      then(reply, session.view, session.witness);
    });
  }

  /** A write whose value nobody else writes: acknowledged, it is in the history. */
  protected write(
    type: number,
    body: Body,
    key: string,
    text: string,
    done: (reply: ZooKeeperReply | undefined) => void,
  ): void {
    const { oracle } = this.context;
    const invoked: Invocation = oracle.promises.realTime.invoke();
    this.ask(
      type,
      body,
      (reply, _view, witness) => {
        if (reply.error === ErrorCode.Ok) {
          oracle.promises.realTime.wrote(
            witness,
            oracle.promises.registers.tree,
            `d${key}`,
            text,
            invoked,
          );
        }
        done(reply);
      },
      () => {
        this.#unknown.push({ key: `d${key}`, text });
        done(undefined);
      },
    );
  }

  #fail(what: string): void {
    this.context.world.fail('SessionTruth', `${this.context.name} ${what}`);
  }
}
