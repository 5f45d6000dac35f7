/** A connection's bytes, as a session sees them; the listener puts a socket behind it. */
export interface Wire {
  /** `host:port` of both ends. */
  readonly address: string;
  readonly localAddress: string;
  /** Takes over the bytes. */
  write(bytes: Uint8Array): void;
  /** Closes after what was written. */
  end(): void;
  destroy(): void;
  pause(): void;
  resume(): void;
  /** Bytes written and not yet taken by the operating system. */
  unsentBytes(): number;
}
