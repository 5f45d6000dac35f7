import type { ByteString } from '@lockstep/model';
import { ETCD_ERRORS, type EtcdErrorName, StatusCode } from './errors.ts';

/** A refusal as the RPC layer sends it. */
export interface RpcError {
  readonly code: StatusCode;
  readonly message: string;
}

export function rpcError(name: EtcdErrorName): RpcError {
  return ETCD_ERRORS[name];
}

export const UNIMPLEMENTED: RpcError = {
  code: StatusCode.Unimplemented,
  message: 'etcdserver: this request is not supported yet',
};

/** One request as a service sees it, whatever carried it: gRPC now, the JSON gateway later. */
export interface Call {
  /** A request header in lower case; undefined when absent. */
  metadata(name: string): ByteString | undefined;
  /** Runs once when the client gives up or its connection ends before the answer. */
  onCancelled(listener: () => void): void;
  readonly cancelled: boolean;
}

/** Answers a unary request, exactly once. */
export type Done<S> = (error: RpcError | undefined, response?: S) => void;

/** A stream of responses. */
export interface Output<S> extends Call {
  /** Queues one response; `sent` runs when it left this process's buffers. Returns its bytes. */
  send(response: S, sent?: () => void): number;
  /** Ends the stream, with OK or an error, after what was queued. */
  end(error?: RpcError): void;
}

/** A stream of requests and responses. */
export interface StreamCall<Q, S> extends Output<S> {
  onRequest(listener: (request: Q) => void): void;
  /** The client sends no more; it may still listen. */
  onHalfClose(listener: () => void): void;
  /** Stops and resumes reading requests. */
  pause(): void;
  resume(): void;
}

export type UnaryHandler<Q, S> = (request: Q, call: Call, done: Done<S>) => void;
export type StreamHandler<Q, S> = (call: StreamCall<Q, S>) => void;
export type ServerStreamHandler<Q, S> = (request: Q, call: Output<S>) => void;
