import WebSocket from 'ws';

const BACKOFF_FIRST_MS = 50;
const BACKOFF_LAST_MS = 1000;
const CONNECT_TIMEOUT_MS = 3000;

/** No XOR between our own members: a zero mask lets ws send the caller's bytes as they are. */
function zeroMask(mask: Buffer): void {
  mask.fill(0);
}

export interface DiallerOptions {
  readonly address: string;
  readonly frameBytesMax: number;
  /** How long to wait at least before the next attempt: the other side may dial first. */
  patienceMs(): number;
  /** Whether a link is missing; asked before each attempt. If not, the dialler rests until
   * `missed`. */
  isNeeded(): boolean;
  /** An open socket; the dialler rests until `lost`. */
  opened(socket: WebSocket): void;
  failed(reason: string): void;
}

/** Keeps trying to open a socket to one address, with back-off of 50 ms … 1 s. */
export class Dialler {
  readonly #options: DiallerOptions;
  #backoffMs = BACKOFF_FIRST_MS;
  #timer: NodeJS.Timeout | undefined;
  #socket: WebSocket | undefined;
  #handedOver = false;
  #stopped = false;

  constructor(options: DiallerOptions) {
    this.#options = options;
    if (!options.isNeeded()) return;
    if (options.patienceMs() === 0) this.#dial();
    else this.missed();
  }

  /** The socket handed over is in its handshake, or a link. */
  get holds(): boolean {
    return this.#handedOver;
  }

  /** The handshake was done: the next loss is answered at once. */
  settled(): void {
    this.#backoffMs = BACKOFF_FIRST_MS;
  }

  /** The socket handed over is gone: dials again after the back-off. */
  lost(): void {
    this.#handedOver = false;
    this.missed();
  }

  /** A link is missing, whoever had made it. */
  missed(): void {
    if (this.#stopped || this.#timer !== undefined || this.#socket !== undefined) return;
    if (this.#handedOver) return;
    const delayMs = Math.max(this.#backoffMs, this.#options.patienceMs());
    this.#backoffMs = Math.min(this.#backoffMs * 2, BACKOFF_LAST_MS);
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      if (this.#options.isNeeded()) this.#dial();
    }, delayMs);
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
    this.#socket?.terminate();
    this.#socket = undefined;
  }

  #connect(): WebSocket {
    return new WebSocket(`ws://${this.#options.address}/peer`, {
      perMessageDeflate: false,
      skipUTF8Validation: true,
      generateMask: zeroMask,
      maxPayload: this.#options.frameBytesMax,
      handshakeTimeout: CONNECT_TIMEOUT_MS,
      followRedirects: false,
    });
  }

  #dial(): void {
    let socket: WebSocket;
    try {
      socket = this.#connect();
    } catch (error) {
      // No address at all. Whoever let it in, it must cost a link and not the member.
      this.#options.failed((error as Error).message);
      this.missed();
      return;
    }
    this.#socket = socket;
    const failed = (reason: string) => {
      if (this.#socket !== socket) return;
      this.#socket = undefined;
      if (this.#stopped) return;
      this.#options.failed(reason);
      this.missed();
    };
    // Stays attached: a socket that is terminated while it connects reports an error.
    socket.on('error', (error) => failed(error.message));
    socket.once('open', () => {
      if (this.#socket !== socket) return;
      this.#socket = undefined;
      // The other side's link came first.
      if (!this.#options.isNeeded()) {
        socket.terminate();
        return;
      }
      this.#handedOver = true;
      this.#options.opened(socket);
    });
  }
}
