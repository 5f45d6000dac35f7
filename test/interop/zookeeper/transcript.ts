import type { JuteReader } from '../../../packages/adapter-zookeeper/src/jute.ts';
import { OpCode, Xid } from '../../../packages/adapter-zookeeper/src/opcodes.ts';
import type { Stat } from '../../../packages/adapter-zookeeper/src/tree.ts';
import {
  type Body,
  type Message,
  readMulti,
  readStat,
  requestFrame,
} from '../../../packages/adapter-zookeeper/test/frames.ts';
import { SocketClient } from '../../../packages/adapter-zookeeper/test/socket-client.ts';

const EVENTS = ['', 'created', 'deleted', 'changed', 'children'];
const NAMES = new Map<number, string>(Object.entries(OpCode).map(([name, code]) => [code, name]));

/** A line with values that differ from server to server still in it. */
interface Line {
  readonly text: string;
  readonly stats: readonly Stat[];
}

/**
 * Runs requests on several connections and writes down every answer and event in order. Zxids are
 * replaced by their rank among all zxids of stats, session ids by the order of their opening, times
 * by whether there is one; reply headers' zxids are only checked never to fall.
 */
export class Recorder {
  readonly #address: string;
  readonly #clients = new Map<string, SocketClient>();
  readonly #lastZxid = new Map<string, number>();
  readonly #sessions: bigint[] = [];
  readonly #lines: Line[] = [];

  constructor(address: string) {
    this.#address = address;
  }

  /** Opens a session for the client of that name. */
  async connect(name: string, timeoutMs = 8000): Promise<void> {
    const client = await SocketClient.dial(this.#address);
    const answer = await client.handshake({ timeoutMs });
    this.#sessions.push(answer.sessionId);
    this.#clients.set(name, client);
  }

  client(name: string): SocketClient {
    const client = this.#clients.get(name);
    if (client === undefined) throw new Error(`no client ${name}`);
    return client;
  }

  /** One request; its reply and all events around it, on every connection, are written down. */
  async ask(name: string, type: number, body: Body = () => {}, xid?: number): Promise<void> {
    const first = this.#lines.length;
    const { reply, events } = await this.client(name).ask(type, body, xid);
    for (const event of events) this.#event(name, event);
    this.#reply(name, type, reply);
    if (reply.error === -6 || (type === OpCode.Auth && reply.error !== 0)) {
      await this.#gone(name);
    } else if (type === OpCode.CloseSession) await this.#gone(name);
    for (const other of this.#clients.keys()) await this.#drain(other);
    // In which order the ephemeral nodes of a session go is not specified.
    if (type === OpCode.CloseSession) this.#sortFrom(first);
  }

  #sortFrom(first: number): void {
    const lines = this.#lines.splice(first);
    this.#lines.push(...lines.sort((a, b) => (a.text < b.text ? -1 : 1)));
  }

  async #gone(name: string): Promise<void> {
    await this.client(name).closed;
    this.#clients.delete(name);
    this.#lines.push({ text: `${name} closed`, stats: [] });
  }

  /** Requests in one segment; the messages in the order they come. */
  async pipeline(
    name: string,
    requests: readonly (readonly [xid: number, type: number, body?: Body])[],
    messages: number,
  ): Promise<void> {
    const client = this.client(name);
    client.socket.write(Buffer.concat(requests.map((request) => requestFrame(...request))));
    for (const message of await client.messages(messages)) {
      if (message.kind === 'event') this.#event(name, message);
      else {
        const type = requests.find(([xid]) => xid === message.xid)?.[1] ?? 0;
        this.#reply(name, type, message);
      }
    }
  }

  /** Events on a connection that came before the answer to a ping. */
  async #drain(name: string): Promise<void> {
    const { events } = await this.client(name).ask(OpCode.Ping, () => {}, Xid.Ping);
    for (const event of events) this.#event(name, event);
  }

  #event(name: string, event: Message): void {
    if (event.kind !== 'event') throw new Error(`unexpected reply to ${event.xid}`);
    this.#lines.push({ text: `${name} EVENT ${EVENTS[event.type]} ${event.path}`, stats: [] });
  }

  #reply(name: string, type: number, reply: Message & { kind: 'reply' }): void {
    const before = this.#lastZxid.get(name) ?? 0;
    if (reply.zxid > 0) {
      if (reply.zxid < before) throw new Error(`zxid fell from ${before} to ${reply.zxid}`);
      this.#lastZxid.set(name, reply.zxid);
    }
    const stats: Stat[] = [];
    const shown = reply.error === 0 ? this.#body(type, reply.body, stats) : '';
    this.#lines.push({
      text: `${name} ${NAMES.get(type) ?? type} ${reply.error} ${shown}`.trim(),
      stats,
    });
  }

  #body(type: number, body: JuteReader, stats: Stat[]): string {
    const stat = () => {
      stats.push(readStat(body));
      return `{stat ${stats.length - 1}}`;
    };
    const data = () => {
      const bytes = body.buffer();
      return bytes === null ? 'null' : JSON.stringify(Buffer.from(bytes).toString('latin1'));
    };
    switch (type) {
      case OpCode.Create:
      case OpCode.Sync:
        return `${body.string()}`;
      case OpCode.Create2:
      case OpCode.CreateContainer:
      case OpCode.CreateTtl:
        return `${body.string()} ${stat()}`;
      case OpCode.Exists:
      case OpCode.SetData:
      case OpCode.SetAcl:
        return stat();
      case OpCode.GetData:
        return `${data()} ${stat()}`;
      case OpCode.GetAcl:
        return `${this.#triples(body)} ${stat()}`;
      case OpCode.GetChildren:
      case OpCode.GetEphemerals:
        return body.strings().sort().join(' ');
      case OpCode.GetChildren2:
        return `${body.strings().sort().join(' ')} ${stat()}`;
      case OpCode.WhoAmI:
        return Array.from({ length: body.int() }, () => `${body.string()}:${body.string()}`)
          .sort()
          .join(' ');
      case OpCode.GetAllChildrenNumber:
      case OpCode.AddWatch:
        return String(body.int());
      case OpCode.Sasl:
        return data();
      case OpCode.Multi:
      case OpCode.MultiRead:
        return this.#multi(body, stats);
      default:
        return body.remaining === 0 ? '' : `and ${body.remaining} bytes`;
    }
  }

  #triples(body: JuteReader): string {
    const rows = Array.from(
      { length: body.int() },
      () => `${body.int()}:${body.string()}:${body.string()}`,
    );
    return rows.join(' ');
  }

  #multi(body: JuteReader, stats: Stat[]): string {
    const rows = readMulti(body).map(({ type, error, path, stat, data, children }) => {
      if (stat !== undefined) stats.push(stat);
      const shownStat = stat === undefined ? undefined : `{stat ${stats.length - 1}}`;
      const parts = [type, error, path, data, children?.sort().join(' '), shownStat];
      return parts.filter((part) => part !== undefined).join(' ');
    });
    return `[${rows.join(' | ')}]`;
  }

  /** Closes the connections and returns the transcript. */
  finish(): string[] {
    for (const client of this.#clients.values()) client.socket.destroy();
    const zxids = new Set<number>();
    for (const { stats } of this.#lines) {
      for (const stat of stats) for (const z of [stat.czxid, stat.mzxid, stat.pzxid]) zxids.add(z);
    }
    const ranks = new Map([...zxids].sort((a, b) => a - b).map((zxid, rank) => [zxid, rank]));
    return this.#lines.map(({ text, stats }) =>
      text.replaceAll(/\{stat (\d+)\}/g, (_all, at) => this.#stat(stats[Number(at)]!, ranks)),
    );
  }

  #stat(stat: Stat, ranks: ReadonlyMap<number, number>): string {
    const owner = this.#sessions.indexOf(stat.ephemeralOwner) + 1;
    const times = `${stat.ctime > 0 ? 't' : 0}/${stat.mtime > 0 ? 't' : 0}`;
    const zxids = [stat.czxid, stat.mzxid, stat.pzxid].map((zxid) => ranks.get(zxid)).join('/');
    const versions = `${stat.version}/${stat.cversion}/${stat.aversion}`;
    const sizes = `d ${stat.dataLength} c ${stat.numChildren}`;
    return `(z ${zxids} v ${versions} t ${times} o ${owner} ${sizes})`;
  }
}
