import { BinaryWriter } from '@bufbuild/protobuf/wire';

/** Encoder and decoder of one message, as ts-proto generates them. */
export interface MessageCodec<T> {
  encode(message: T, writer?: BinaryWriter): { finish(): Uint8Array };
  decode(input: Uint8Array): T;
}

/** One RPC of the wire: its path and messages. Server and test clients are made from it. */
export interface Rpc<Q, S> {
  /** `/package.Service/Method`. */
  readonly path: string;
  readonly kind: 'unary' | 'server-stream' | 'bidi';
  readonly request: MessageCodec<Q>;
  readonly response: MessageCodec<S>;
}

/** Larger messages take the writer's buffer with them: it must not stay that large. */
const WRITER_BYTES_MAX = 16_384;

/** One writer for all messages: `finish` copies out, and a new buffer costs more than a reply. */
let shared: BinaryWriter | undefined = new BinaryWriter();

/** Bytes of a message; a view of a fresh buffer. */
export function encodeMessage<T>(codec: MessageCodec<T>, message: T): Buffer {
  const writer = shared ?? new BinaryWriter();
  // Not there for a message whose encoding fails: half of it is in the writer.
  shared = undefined;
  const bytes = codec.encode(message, writer).finish();
  if (bytes.length <= WRITER_BYTES_MAX) shared = writer;
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

const rpc =
  (kind: 'unary' | 'server-stream' | 'bidi') =>
  <Q, S>(path: string, request: MessageCodec<Q>, response: MessageCodec<S>): Rpc<Q, S> => ({
    path,
    kind,
    request,
    response,
  });

export const unary = rpc('unary');
export const serverStream = rpc('server-stream');
export const bidi = rpc('bidi');
