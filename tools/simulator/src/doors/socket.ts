import type { Stream } from '../seed.ts';
import type { Life, World } from '../world.ts';
import { Pipe } from './pipe.ts';

/** A door's session at the member's end of a socket. */
export interface ServerEnd {
  receive(chunk: Buffer): void;
  drained(): void;
  close(): void;
}

/** A client at the other end. */
export interface ClientEnd {
  bytes(chunk: Buffer): void;
  /** The connection is over, once; nothing arrives after it. */
  closed(): void;
}

/** What the operating system takes from a writer whose client does not read. */
const KERNEL_BYTES = 16_384;
/** Unsent bytes from which on Node tells when they are gone. */
const HIGH_WATER_BYTES = 16_384;
/** The longest until a client notices that a machine is gone. */
const NOTICE_US = 400_000;

/**
 * A TCP connection of a client to a door of one process life: bytes both ways, in order, split
 * anywhere. It has both wires that doors ask for, and the client's half.
 */
export class SimSocket {
  readonly address = '127.0.0.1:40000';
  readonly localAddress = '127.0.0.1:1';
  readonly port = 40_000;
  server: ServerEnd | undefined;
  readonly #world: World;
  readonly #stream: Stream;
  readonly #life: Life;
  readonly #client: ClientEnd;
  readonly #toServer: Pipe;
  readonly #toClient: Pipe;
  #inFlight = 0;
  #wasFull = false;
  #serverOver = false;
  #clientOver = false;

  constructor(world: World, stream: Stream, life: Life, meanUs: number, client: ClientEnd) {
    this.#world = world;
    this.#stream = stream;
    this.#life = life;
    this.#client = client;
    this.#toServer = new Pipe(world, stream, life, meanUs);
    this.#toClient = new Pipe(world, stream, undefined, meanUs);
  }

  // ---- the member's end ---------------------------------------------------------------------

  write(bytes: Uint8Array): void {
    if (this.#serverOver) return;
    // The writer may use its buffers again.
    const chunk = Buffer.from(bytes);
    this.#inFlight += chunk.length;
    if (this.unsentBytes() >= HIGH_WATER_BYTES) this.#wasFull = true;
    this.#toClient.send(() => this.#arrived(chunk));
  }

  #arrived(chunk: Buffer): void {
    this.#inFlight -= chunk.length;
    if (this.#wasFull && this.unsentBytes() === 0) {
      this.#wasFull = false;
      this.#world.after(1, this.#life, 'drain', () => {
        if (!this.#serverOver) this.server?.drained();
      });
    }
    if (!this.#clientOver) this.#client.bytes(chunk);
  }

  /** Closes once everything written has arrived. */
  end(): void {
    if (this.#serverOver) return;
    this.#serverOver = true;
    this.#toClient.send(() => {
      this.#closed();
      this.#toServer.send(() => this.server?.close());
    });
  }

  /** Closes at once; what is under way may be lost. */
  destroy(): void {
    if (this.#serverOver) return;
    this.#serverOver = true;
    this.#over(0);
  }

  pause(): void {
    this.#toServer.hold();
  }

  resume(): void {
    this.#toServer.resume();
  }

  unsentBytes(): number {
    return Math.max(0, this.#inFlight - KERNEL_BYTES);
  }

  // ---- the client's end ---------------------------------------------------------------------

  get isOver(): boolean {
    return this.#clientOver;
  }

  send(bytes: Buffer): void {
    if (this.#clientOver) return;
    const cut = this.#stream.chance(0.1) ? this.#stream.below(bytes.length) : 0;
    if (cut > 0)
      this.#toServer.send(() => this.server?.receive(Buffer.from(bytes.subarray(0, cut))));
    this.#toServer.send(() => this.server?.receive(Buffer.from(bytes.subarray(cut))));
  }

  /** The client goes away; it is not told of it. */
  close(): void {
    if (this.#clientOver) return;
    this.#clientOver = true;
    this.#toServer.resume();
    this.#toServer.send(() => {
      this.#serverOver = true;
      this.server?.close();
    });
  }

  /** Reads nothing until `read`. */
  stall(): void {
    this.#toClient.hold();
  }

  read(): void {
    this.#toClient.resume();
  }

  // ---- faults -------------------------------------------------------------------------------

  /** The network breaks the connection; both ends notice. */
  reset(): void {
    this.#toServer.resume();
    this.#toServer.send(() => {
      this.#serverOver = true;
      this.server?.close();
    });
    this.#over(this.#stream.below(NOTICE_US));
  }

  /** The member's process is gone. */
  lost(): void {
    this.#serverOver = true;
    this.#toServer.cut();
    this.#over(this.#stream.below(NOTICE_US));
  }

  #over(afterUs: number): void {
    if (this.#stream.chance(0.5)) this.#toClient.cut();
    else {
      this.#toClient.send(() => this.#closed());
      return;
    }
    this.#world.after(1 + afterUs, undefined, 'closed', () => this.#closed());
  }

  #closed(): void {
    if (this.#clientOver) return;
    this.#clientOver = true;
    this.#client.closed();
  }
}
