import { pass } from '../../support/until.ts';
import { BodyReader, body, Op, ZooKeeper } from '../../support/zookeeper.ts';
import { type Told, within } from '../stage.ts';
import { NO_NODE, readStat, SessionActor } from './zookeeper-session.ts';

export const LOCK = '/chaos/lock';
export const RESOURCE = '/chaos/resource';
const EPHEMERAL_SEQUENTIAL = 3;

/**
 * The lock recipe: an ephemeral sequential node, the lowest holds. Writes are guarded by a check of
 * the holder's own node in one transaction. Some holders lose their session and write late, through
 * another one.
 */
export class ZooKeeperLock extends SessionActor {
  protected async connected(): Promise<void> {
    while (!this.stage.stopping) {
      const held = await this.#acquire().catch((error: unknown) => {
        // A node may have been made that nobody knows: it goes with the session.
        this.abandon();
        throw error;
      });
      if (held === undefined) continue;
      for (let writes = this.random.between(1, 5); writes > 0; writes--) {
        await this.#guarded(held, this.connection);
        await this.think();
      }
      if (this.random.chance(0.15)) {
        await this.#pause(held);
        return;
      }
      await this.#release(held);
      if (this.random.chance(0.1)) await this.#guarded(held, this.connection);
      await pass(this.random.between(20, 200));
    }
  }

  async #acquire(): Promise<Held | undefined> {
    const owner = this.unique();
    const lease = this.sessionName;
    const request = { op: 'acquire', key: LOCK, owner, lease, queued: true } as const;
    let path = '';
    let token = 0;
    const call = this.now();
    const create = body.create(`${LOCK}/n-`, owner, EPHEMERAL_SEQUENTIAL);
    const { error, zxid, body: bytes } = await this.call(Op.create, create);
    if (error !== 0) throw new Error(`create ${LOCK}: ${error}`);
    path = new BodyReader(bytes).text();
    token = Number(zxid);
    const name = path.slice(LOCK.length + 1);
    while (!this.stage.stopping) {
      const children = await within(this.connection.children(LOCK));
      if (!children.includes(name)) throw new Error('the session has ended');
      if (children.every((child) => child >= name)) {
        this.note(request, { result: token }, call, this.sessionName);
        return { path, token };
      }
      await pass(this.random.between(20, 60));
    }
    return undefined;
  }

  async #guarded({ path, token }: Held, connection: ZooKeeper): Promise<void> {
    const value = this.unique();
    const answer = async (): Promise<Told> => {
      const operations = [
        { op: Op.check, bytes: Buffer.concat([body.path(path), VERSION_ANY]) },
        { op: Op.setData, bytes: body.setData(RESOURCE, value) },
      ];
      const frame = await connection.call(Op.multi, multi(operations));
      const reader = new BodyReader(frame.body);
      const first = reader.int();
      reader.skip(5);
      // An error stands in the place of every operation, the first cause among them.
      if (frame.error === NO_NODE || first === -1) {
        return { result: false, revision: Number(frame.zxid) };
      }
      if (frame.error !== 0) throw new Error(`multi: ${frame.error}`);
      reader.skip(9);
      return { result: true, revision: readStat(reader).mzxid };
    };
    const guard = { lock: LOCK, token, value, guard: 'held' } as const;
    await this.ask({ op: 'guarded', key: RESOURCE, ...guard }, answer, this.sessionName);
  }

  /** Falls silent for longer than its session, then writes as a process that wakes up would. */
  async #pause(held: Held): Promise<void> {
    this.paused = true;
    await pass(this.random.between(1000, 7000));
    this.paused = false;
    const late = ZooKeeper.open(this.member().ports.zookeeper);
    const connection = await within(late);
    try {
      await this.#guarded(held, connection);
    } finally {
      connection.close();
    }
  }

  async #release({ path, token }: Held): Promise<void> {
    const answer = async (): Promise<Told> => {
      const { error } = await this.call(Op.delete, body.delete(path));
      if (error !== 0 && error !== NO_NODE) throw new Error(`delete ${path}: ${error}`);
      return { result: error === 0 };
    };
    await this.ask({ op: 'release', key: LOCK, token }, answer, this.sessionName);
  }
}

interface Held {
  readonly path: string;
  readonly token: number;
}

const VERSION_ANY = Buffer.from([0xff, 0xff, 0xff, 0xff]);

/** A MultiTransactionRecord: each operation behind its header, then the header that ends it. */
function multi(operations: readonly { readonly op: number; readonly bytes: Buffer }[]): Buffer {
  const header = (type: number, done: boolean): Buffer => {
    const bytes = Buffer.alloc(9);
    bytes.writeInt32BE(type, 0);
    bytes.writeUInt8(done ? 1 : 0, 4);
    bytes.writeInt32BE(-1, 5);
    return bytes;
  };
  const parts = operations.flatMap(({ op, bytes }) => [header(op, false), bytes]);
  return Buffer.concat([...parts, header(-1, true)]);
}
