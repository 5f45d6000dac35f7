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
  #stopped = false;

  constructor(options: DiallerOptions) {
    this.#options = options;
    this.#dial();
  }

  /** The handshake was done: the next loss is answered at once. */
  settled(): void {
    this.#backoffMs = BACKOFF_FIRST_MS;
  }

  /** The socket handed over is gone: dials again after the back-off. */
  lost(): void {
    if (this.#stopped || this.#timer !== undefined || this.#socket !== undefined) return;
    const delayMs = this.#backoffMs;
    this.#backoffMs = Math.min(delayMs * 2, BACKOFF_LAST_MS);
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#dial();
    }, delayMs);
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
    this.#socket?.terminate();
    this.#socket = undefined;
  }

  #dial(): void {
    const socket = new WebSocket(`ws://${this.#options.address}/peer`, {
      perMessageDeflate: false,
      skipUTF8Validation: true,
      generateMask: zeroMask,
      maxPayload: this.#options.frameBytesMax,
      handshakeTimeout: CONNECT_TIMEOUT_MS,
      followRedirects: false,
    });
    this.#socket = socket;
    const failed = (reason: string) => {
      if (this.#socket !== socket) return;
      this.#socket = undefined;
      if (this.#stopped) return;
      this.#options.failed(reason);
      this.lost();
    };
    // Stays attached: a socket that is terminated while it connects reports an error.
    socket.on('error', (error) => failed(error.message));
    socket.once('open', () => {
      if (this.#socket !== socket) return;
      this.#socket = undefined;
      this.#options.opened(socket);
    });
  }
}
