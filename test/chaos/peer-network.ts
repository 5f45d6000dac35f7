import { connect, createServer, type Server, type Socket } from 'node:net';
import { decodeHandshake } from '../../packages/transport/src/handshake.ts';

/** What happens to the bytes between two members. */
interface Rule {
  /** Connections are reset, new ones too. */
  readonly cut: boolean;
  /** Bytes from these members are kept back, as by a network that loses packets. */
  readonly held: ReadonlySet<number>;
  readonly delayMs: number;
}

const OPEN: Rule = { cut: false, held: new Set(), delayMs: 0 };
const nameOf = (a: number, b: number): string => `${Math.min(a, b)}-${Math.max(a, b)}`;

/**
 * A TCP proxy in front of every member's peer listener: it reads from the handshake who dials, so
 * that each pair of members has a link of its own that can be cut, go silent both ways or one way,
 * or be slow. What was kept back arrives when the link heals, as TCP would send it again.
 */
export class PeerNetwork {
  readonly #rules = new Map<string, Rule>();
  readonly #passages = new Set<Passage>();
  readonly #servers: Server[] = [];

  /** The port under which others reach the member whose peer listener is at `port`. */
  proxy(port: number, proxyPort: number): Promise<number> {
    const server = createServer((dialler) => {
      const passage = new Passage(dialler, port, (a, b) => this.#rules.get(nameOf(a, b)) ?? OPEN);
      this.#passages.add(passage);
      passage.onClose = () => this.#passages.delete(passage);
    });
    this.#servers.push(server);
    return new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen(proxyPort, '127.0.0.1', () => resolve(proxyPort));
    });
  }

  cut(a: number, b: number): void {
    this.#set(a, b, { ...OPEN, cut: true });
  }

  /** Nothing arrives and nothing is closed: both ways, or only what `from` sends. */
  silence(a: number, b: number, from?: number): void {
    this.#set(a, b, { ...OPEN, held: new Set(from === undefined ? [a, b] : [from]) });
  }

  delay(a: number, b: number, delayMs: number): void {
    this.#set(a, b, { ...OPEN, delayMs });
  }

  heal(): void {
    this.#rules.clear();
    for (const passage of this.#passages) passage.update();
  }

  async close(): Promise<void> {
    for (const passage of this.#passages) passage.destroy();
    await Promise.all(
      this.#servers.map((server) => new Promise((resolve) => server.close(resolve))),
    );
  }

  #set(a: number, b: number, rule: Rule): void {
    this.#rules.set(nameOf(a, b), rule);
    for (const passage of this.#passages) passage.update();
  }
}

/** Bytes under way in one direction. */
interface Lane {
  readonly from: Socket;
  readonly to: Socket;
  readonly queue: { readonly chunk: Buffer; readonly at: number }[];
  queuedBytes: number;
  timer: NodeJS.Timeout | undefined;
}

/** A held lane takes this much, then lets the sender's buffers fill up. */
const LANE_BYTES_MAX = 4 << 20;

/** Whether a connection begins, as far as it has come, as the links between members do. */
function isLink(header: Buffer): boolean {
  const start = Buffer.from('GET /peer ');
  return header.subarray(0, start.length).equals(start.subarray(0, header.length));
}

/** One connection through the proxy. */
class Passage {
  readonly #out: Lane;
  readonly #back: Lane;
  readonly #ruleOf: (a: number, b: number) => Rule;
  /** Who dials and who is dialled; unknown until the handshake has come by. */
  #members: { readonly dialler: number; readonly target: number } | undefined;
  #beginning: Buffer | undefined = Buffer.alloc(0);
  #ended = false;
  #destroyed = false;
  onClose: () => void = () => undefined;

  constructor(dialler: Socket, port: number, ruleOf: (a: number, b: number) => Rule) {
    const target = connect({ port, host: '127.0.0.1', noDelay: true });
    dialler.setNoDelay(true);
    this.#ruleOf = ruleOf;
    this.#out = { from: dialler, to: target, queue: [], queuedBytes: 0, timer: undefined };
    this.#back = { from: target, to: dialler, queue: [], queuedBytes: 0, timer: undefined };
    for (const lane of [this.#out, this.#back]) {
      lane.from.on('data', (chunk: Buffer) => this.#take(lane, chunk));
      lane.from.on('error', () => undefined);
      lane.from.on('close', () => this.#end());
    }
  }

  /** The rules have changed. */
  update(): void {
    if (this.#rule().cut) {
      this.destroy();
      return;
    }
    for (const lane of [this.#out, this.#back]) this.#flush(lane);
    if (this.#ended) this.#end();
  }

  destroy(): void {
    if (this.#destroyed) return;
    this.#destroyed = true;
    for (const lane of [this.#out, this.#back]) {
      clearTimeout(lane.timer);
      lane.from.resetAndDestroy();
    }
    this.onClose();
  }

  #rule(): Rule {
    const members = this.#members;
    return members === undefined ? OPEN : this.#ruleOf(members.dialler, members.target);
  }

  #isHeld(lane: Lane): boolean {
    const { held } = this.#rule();
    if (this.#members === undefined || held.size === 0) return false;
    const { dialler, target } = this.#members;
    return held.has(lane === this.#out ? dialler : target);
  }

  #take(lane: Lane, chunk: Buffer): void {
    let bytes = chunk;
    if (lane === this.#out && this.#beginning !== undefined) {
      const header = Buffer.concat([this.#beginning, chunk]);
      if (!isLink(header)) {
        // A question over plain HTTP says nothing of who asks.
        this.#beginning = undefined;
        this.#take(lane, header);
        return;
      }
      const known = this.#identify(header);
      // The request must pass before the dialler says who it is.
      bytes = known ? header.subarray(this.#passed) : this.#passHeader(header);
      this.#beginning = known ? undefined : header;
      if (known && this.#rule().cut) {
        this.destroy();
        return;
      }
      if (bytes.length === 0) return;
    }
    lane.queue.push({ chunk: bytes, at: performance.now() + this.#rule().delayMs });
    lane.queuedBytes += bytes.length;
    this.#flush(lane);
    if (lane.queuedBytes > LANE_BYTES_MAX) lane.from.pause();
  }

  /** How much of the beginning was passed on: the HTTP request. */
  #passed = 0;

  #passHeader(header: Buffer): Buffer {
    const end = header.indexOf('\r\n\r\n');
    if (end < 0 || this.#passed > 0) return Buffer.alloc(0);
    this.#passed = end + 4;
    return header.subarray(0, this.#passed);
  }

  /** Looks for the first frame behind the HTTP request; its mask is zero between members. */
  #identify(header: Buffer): boolean {
    const at = header.indexOf('\r\n\r\n') + 4;
    if (at < 4 || header.length < at + 6) return false;
    const short = (header[at + 1] ?? 0) & 0x7f;
    const length = short === 126 ? header.readUInt16BE(at + 2) : short;
    const start = at + (short === 126 ? 4 : 2) + 4;
    if (header.length < start + length) return false;
    const { member, target } = decodeHandshake(header.subarray(start, start + length));
    this.#members = { dialler: member, target };
    return true;
  }

  #flush(lane: Lane): void {
    if (this.#destroyed || this.#isHeld(lane)) return;
    clearTimeout(lane.timer);
    lane.timer = undefined;
    const now = performance.now();
    for (let first = lane.queue[0]; first !== undefined; first = lane.queue[0]) {
      if (first.at > now) {
        lane.timer = setTimeout(() => this.#flush(lane), first.at - now);
        return;
      }
      lane.queue.shift();
      lane.queuedBytes -= first.chunk.length;
      lane.to.write(first.chunk);
    }
    if (lane.from.isPaused()) lane.from.resume();
  }

  /** The end of one side reaches the other only where bytes would. */
  #end(): void {
    this.#ended = true;
    if (this.#rule().held.size === 0) this.destroy();
  }
}
