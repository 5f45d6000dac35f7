import { type ClientHttp2Session, connect } from 'node:http2';
import type { LoadClient } from './load.ts';

/** protobuf length-delimited field. */
export function field(number: number, value: Buffer): Buffer {
  const length: number[] = [];
  for (let rest = value.length; ; rest = Math.floor(rest / 128)) {
    length.push(rest >= 128 ? (rest % 128) + 128 : rest);
    if (rest < 128) break;
  }
  return Buffer.concat([Buffer.from([number * 8 + 2, ...length]), value]);
}

/** A message with gRPC's 5-byte prefix. */
export function grpcFrame(message: Buffer): Buffer {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

export const PATHS = {
  put: '/etcdserverpb.KV/Put',
  get: '/etcdserverpb.KV/Range',
  empty: '/bench.Empty/Call',
} as const;

const TYPE = { 'content-type': 'application/grpc', te: 'trailers', ':method': 'POST' };

/** One unary call on a session; the answer's bytes go to `taken`, or nowhere. */
export function unary(
  session: ClientHttp2Session,
  path: string,
  frame: Buffer,
  done: (error?: Error) => void,
  taken: (chunk: Buffer) => void = () => undefined,
): void {
  const stream = session.request({ ...TYPE, ':path': path });
  let status = '';
  let failure: Error | undefined;
  stream.on('response', (headers) => {
    if (headers['grpc-status'] !== undefined) status = String(headers['grpc-status']);
  });
  stream.on('trailers', (headers) => {
    status = String(headers['grpc-status'] ?? '');
  });
  stream.on('data', taken);
  stream.on('error', (error) => {
    failure = error;
  });
  stream.on('close', () => {
    done(failure ?? (status === '0' ? undefined : new Error(`grpc-status ${status}`)));
  });
  stream.end(frame);
}

/** HTTP/2 connections shared by the clients of one run, as Go's clients share theirs. */
export class EtcdConnections {
  readonly #sessions: ClientHttp2Session[];

  constructor(ports: readonly number[], count: number) {
    this.#sessions = Array.from({ length: count }, (_, i) => {
      const session = connect(`http://127.0.0.1:${ports[i % ports.length]}`);
      session.on('error', () => undefined);
      session.setMaxListeners(0);
      return session;
    });
  }

  /** The connection that the client of that number shares with others. */
  session(id: number): ClientHttp2Session {
    const session = this.#sessions[id % this.#sessions.length];
    if (session === undefined) throw new Error('no connections');
    return session;
  }

  client(id: number, kind: 'put' | 'get' | 'empty', value: Buffer): LoadClient {
    const session = this.session(id);
    const key = Buffer.from(`bench/${id}`);
    const put = grpcFrame(Buffer.concat([field(1, key), field(2, value)]));
    const get = grpcFrame(field(1, key));
    return {
      next: (done) => unary(session, PATHS[kind], kind === 'put' ? put : get, done),
      close: () => undefined,
    };
  }

  close(): void {
    for (const session of this.#sessions) session.destroy();
  }
}
