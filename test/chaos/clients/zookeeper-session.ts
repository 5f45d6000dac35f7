import { monotonicNs } from '../../../tools/checker/src/index.ts';
import { pass } from '../../support/until.ts';
import { type BodyReader, type Frame, Op, ZooKeeper } from '../../support/zookeeper.ts';
import { Actor, within } from '../stage.ts';

export const NO_NODE = -101;
export const BAD_VERSION = -103;
const SESSION_MS = 4000;
/**
 * A ping is answered at once, the session renewed when its last renewal is a quarter of its timeout
 * old, and a member out of contact notices within an election timeout: what an answered ping
 * promises is less by both.
 */
const PROMISED_MS = (SESSION_MS * 3) / 4 - 1000;

/** The fields of a Stat that matter here. */
export interface Stat {
  readonly czxid: number;
  readonly mzxid: number;
  readonly version: number;
}

export function readStat(reader: BodyReader): Stat {
  const [czxid, mzxid] = [Number(reader.long()), Number(reader.long())];
  reader.long();
  reader.long();
  return { czxid, mzxid, version: reader.int() };
}

/** A client with a session that outlives its connections, and moves between members. */
export abstract class SessionActor extends Actor {
  #former: ZooKeeper | undefined;
  #sessions = 0;
  /** The session's name, as client and as lease. */
  sessionName = '';
  protected connection!: ZooKeeper;
  /** Pings stop while the client pauses. */
  protected paused = false;

  protected async session(): Promise<void> {
    const call = monotonicNs();
    const open = ZooKeeper.open(this.member().ports.zookeeper, SESSION_MS, this.#former);
    const connection = await within(open).catch((error: unknown) => {
      open.then((late) => late.close()).catch(() => undefined);
      throw error;
    });
    if (connection.sessionId === 0n) {
      // The answer to a session that has ended.
      this.#former = undefined;
      this.note({ op: 'gone', key: this.sessionName }, {});
      connection.close();
      return;
    }
    const isNew = connection.sessionId !== this.#former?.sessionId;
    if (isNew) this.sessionName = `${this.name}/${++this.#sessions}`;
    const op = isNew ? 'grant' : 'renew';
    const client = `${this.sessionName}/opener`;
    const request = { op, key: this.sessionName, ttlMs: PROMISED_MS } as const;
    this.note(request, { result: true }, call, client);
    connection.lastZxid = connection.lastZxid || (this.#former?.lastZxid ?? 0n);
    this.#former = connection;
    this.connection = connection;
    const pings = this.#ping(connection);
    try {
      await this.connected(isNew);
    } finally {
      connection.close();
      await pings;
    }
  }

  /** Acts until the stage stops or something is not answered. */
  protected abstract connected(isNew: boolean): Promise<void>;

  /** Gives the session up: what comes next is a new one. */
  protected abandon(): void {
    this.#former = undefined;
    this.connection.close();
  }

  /** One request; the error code is the caller's to judge. */
  protected async call(op: number, bytes: Buffer): Promise<Frame> {
    return within(this.connection.call(op, bytes));
  }

  async #ping(connection: ZooKeeper): Promise<void> {
    const request = { op: 'renew', key: this.sessionName, ttlMs: PROMISED_MS } as const;
    const client = `${this.sessionName}/pings`;
    while (!connection.closed) {
      for (let waited = 0; waited < 600 && !connection.closed; waited += 50) await pass(50);
      if (connection.closed || this.paused) continue;
      const ping = async () => {
        await connection.call(Op.ping, Buffer.alloc(0));
        return { result: true };
      };
      await this.ask(request, ping, client).catch(() => connection.close());
    }
  }
}
