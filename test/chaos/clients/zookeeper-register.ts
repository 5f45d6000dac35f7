import { BodyReader, body, Op } from '../../support/zookeeper.ts';
import { Refused, type Told } from '../stage.ts';
import { BAD_VERSION, NO_NODE, readStat, SessionActor, type Stat } from './zookeeper-session.ts';

export const NODES = 4;
export const nodeOf = (i: number): string => `/chaos/r${i}`;

/** Reads and writes a few nodes that all share, by version too, and adds nodes of its own. */
export class ZooKeeperRegister extends SessionActor {
  readonly #seen = new Map<string, Stat & { readonly data: string }>();

  protected async connected(): Promise<void> {
    while (!this.stage.stopping) {
      const path = nodeOf(this.random.below(NODES));
      const kind = this.random.below(100);
      if (kind < 25) await this.#write(path);
      else if (kind < 45) await this.#create();
      else if (kind < 65) await this.#read(path, true);
      else if (kind < 80) await this.#read(path, false);
      else await this.#compareAndSet(path);
      await this.think();
    }
  }

  async #write(path: string): Promise<void> {
    const value = this.unique();
    const request = { op: 'write', key: path, value } as const;
    await this.ask(request, () => this.#set(path, value, -1), this.sessionName);
  }

  async #compareAndSet(path: string): Promise<void> {
    const seen = this.#seen.get(path);
    if (seen === undefined) {
      await this.#read(path, false);
      return;
    }
    const value = this.unique();
    const { data: expected, mzxid: expectedMod, version } = seen;
    const request = { op: 'cas', key: path, expected, expectedMod, value } as const;
    const answer = async (): Promise<Told> => {
      const told = await this.#set(path, value, version);
      return told.result === false ? told : { ...told, result: true };
    };
    await this.ask(request, answer, this.sessionName);
  }

  async #set(path: string, value: string, version: number): Promise<Told> {
    const frame = await this.call(Op.setData, body.setData(path, value, version));
    if (frame.error === BAD_VERSION) {
      this.#seen.delete(path);
      return { result: false, revision: Number(frame.zxid) };
    }
    if (frame.error !== 0) throw new Error(`setData ${path}: ${frame.error}`);
    const stat = readStat(new BodyReader(frame.body));
    this.#seen.set(path, { ...stat, data: value });
    return { revision: stat.mzxid };
  }

  async #create(): Promise<void> {
    const value = this.unique();
    const path = `/chaos/u/${value}`;
    const told = await this.ask(
      { op: 'write', key: path, value },
      async () => {
        const { error, zxid } = await this.call(Op.create, body.create(path, value));
        if (error !== 0) throw error === NO_NODE ? new Refused(path) : new Error(`${error}`);
        return { revision: Number(zxid) };
      },
      this.sessionName,
    );
    if (told !== undefined) this.stage.acknowledged.push({ door: 'zookeeper', key: path });
  }

  /** A local read, or one behind a sync, which is linearizable. */
  async #read(path: string, weak: boolean): Promise<void> {
    const answer = async (): Promise<Told> => {
      if (!weak) await this.call(Op.sync, body.path(path));
      const { error, zxid, body: bytes } = await this.call(Op.getData, body.read(path));
      const revision = Number(zxid);
      if (error === NO_NODE) return { result: null, revision };
      if (error !== 0) throw new Error(`getData ${path}: ${error}`);
      const reader = new BodyReader(bytes);
      const data = reader.text();
      const stat = readStat(reader);
      this.#seen.set(path, { ...stat, data });
      return { result: data, mod: stat.mzxid, revision };
    };
    const request = { op: 'read', key: path, ...(weak && { weak }) } as const;
    await this.ask(request, answer, this.sessionName);
  }
}
