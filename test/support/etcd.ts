import { Client, type ClientDuplexStream, credentials } from '@grpc/grpc-js';
import {
  CompactionRequest,
  CompactionResponse,
  DeleteRangeRequest,
  DeleteRangeResponse,
  LeaseGrantRequest,
  LeaseGrantResponse,
  LeaseKeepAliveRequest,
  LeaseKeepAliveResponse,
  LeaseRevokeRequest,
  LeaseRevokeResponse,
  LeaseTimeToLiveRequest,
  LeaseTimeToLiveResponse,
  PutRequest,
  PutResponse,
  RangeRequest,
  RangeResponse,
  TxnRequest,
  TxnResponse,
  WatchCreateRequest,
  WatchRequest,
  WatchResponse,
} from '../../packages/adapter-etcd/src/gen/rpc.ts';

const EMPTY = new Uint8Array(0);

interface Codec<T> {
  encode(message: T): { finish(): Uint8Array };
  decode(bytes: Uint8Array): T;
}

/** Unary KV calls to one member, without retries: what the member says is what the test sees. */
export class Etcd {
  readonly #client: Client;

  constructor(port: number) {
    this.#client = new Client(`127.0.0.1:${port}`, credentials.createInsecure(), {
      'grpc.enable_retries': 0,
      'grpc.initial_reconnect_backoff_ms': 100,
      'grpc.max_reconnect_backoff_ms': 200,
      'grpc.use_local_subchannel_pool': 1,
    });
  }

  #unary<Q, R>(
    path: string,
    request: Codec<Q>,
    response: Codec<R>,
    partial: Partial<Q>,
    timeoutMs: number,
  ): Promise<R> {
    return new Promise((resolve, reject) => {
      this.#client.makeUnaryRequest(
        path,
        (message: Q) => Buffer.from(request.encode(message).finish()),
        (bytes: Buffer) => response.decode(bytes),
        { ...request.decode(EMPTY), ...partial },
        { deadline: Date.now() + timeoutMs },
        (error, answer) => (error === null && answer ? resolve(answer) : reject(error)),
      );
    });
  }

  put(key: string, value: string, timeoutMs = 10_000, lease = 0n): Promise<PutResponse> {
    return this.#unary(
      '/etcdserverpb.KV/Put',
      PutRequest,
      PutResponse,
      { key: Buffer.from(key), value: Buffer.from(value), lease },
      timeoutMs,
    );
  }

  /** Resolves when the connection is there; rejects after `timeoutMs` without one. */
  ready(timeoutMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#client.waitForReady(Date.now() + timeoutMs, (error) =>
        error === undefined || error === null ? resolve() : reject(error),
      );
    });
  }

  /** Missing fields are the empty ones of the protocol. */
  txn(partial: Partial<TxnRequest>, timeoutMs = 10_000): Promise<TxnResponse> {
    return this.#unary('/etcdserverpb.KV/Txn', TxnRequest, TxnResponse, partial, timeoutMs);
  }

  /** Writes only while `lock` is held under exactly that create revision: the guard of §9. */
  guardedPut(lock: string, token: number, key: string, value: string): Promise<TxnResponse> {
    const put = PutRequest.decode(EMPTY);
    return this.#unary(
      '/etcdserverpb.KV/Txn',
      TxnRequest,
      TxnResponse,
      {
        compare: [
          {
            result: 0,
            target: 1,
            key: Buffer.from(lock),
            createRevision: token,
            rangeEnd: Buffer.alloc(0),
          },
        ],
        success: [{ requestPut: { ...put, key: Buffer.from(key), value: Buffer.from(value) } }],
      },
      10_000,
    );
  }

  /** A lease of that many seconds; its id. */
  async grant(seconds: number, timeoutMs = 10_000): Promise<bigint> {
    const granted = await this.#unary(
      '/etcdserverpb.Lease/LeaseGrant',
      LeaseGrantRequest,
      LeaseGrantResponse,
      { TTL: seconds },
      timeoutMs,
    );
    return granted.ID;
  }

  revoke(lease: bigint, timeoutMs = 10_000): Promise<LeaseRevokeResponse> {
    return this.#unary(
      '/etcdserverpb.Lease/LeaseRevoke',
      LeaseRevokeRequest,
      LeaseRevokeResponse,
      { ID: lease },
      timeoutMs,
    );
  }

  /** One renewal over a stream of its own; TTL 0 in the answer says that there is no such lease. */
  keepAlive(lease: bigint, timeoutMs = 10_000): Promise<LeaseKeepAliveResponse> {
    return new Promise((resolve, reject) => {
      const stream = this.#client.makeBidiStreamRequest(
        '/etcdserverpb.Lease/LeaseKeepAlive',
        (message: LeaseKeepAliveRequest) =>
          Buffer.from(LeaseKeepAliveRequest.encode(message).finish()),
        (bytes: Buffer) => LeaseKeepAliveResponse.decode(bytes),
        { deadline: Date.now() + timeoutMs },
      );
      stream.on('data', (answer: LeaseKeepAliveResponse) => {
        resolve(answer);
        stream.end();
      });
      stream.on('error', reject);
      stream.on('end', () => reject(new Error('the stream ended without an answer')));
      stream.write({ ID: lease });
    });
  }

  timeToLive(lease: bigint): Promise<LeaseTimeToLiveResponse> {
    return this.#unary(
      '/etcdserverpb.Lease/LeaseTimeToLive',
      LeaseTimeToLiveRequest,
      LeaseTimeToLiveResponse,
      { ID: lease },
      10_000,
    );
  }

  range(partial: Partial<RangeRequest>, timeoutMs = 10_000): Promise<RangeResponse> {
    return this.#unary('/etcdserverpb.KV/Range', RangeRequest, RangeResponse, partial, timeoutMs);
  }

  /** Everything under a prefix. */
  prefix(prefix: string): Promise<RangeResponse> {
    const end = Buffer.from(prefix);
    end[end.length - 1] = (end.at(-1) ?? 0) + 1;
    return this.range({ key: Buffer.from(prefix), rangeEnd: end });
  }

  delete(key: string): Promise<DeleteRangeResponse> {
    return this.#unary(
      '/etcdserverpb.KV/DeleteRange',
      DeleteRangeRequest,
      DeleteRangeResponse,
      { key: Buffer.from(key) },
      10_000,
    );
  }

  compact(revision: number): Promise<CompactionResponse> {
    return this.#unary(
      '/etcdserverpb.KV/Compact',
      CompactionRequest,
      CompactionResponse,
      { revision },
      10_000,
    );
  }

  /** A stream of its own with one watcher. */
  watch(partial: { key: Buffer; rangeEnd?: Buffer; startRevision?: number }): Watch {
    return new Watch(
      this.#client.makeBidiStreamRequest(
        '/etcdserverpb.Watch/Watch',
        (message: WatchRequest) => Buffer.from(WatchRequest.encode(message).finish()),
        (bytes: Buffer) => WatchResponse.decode(bytes),
      ),
      partial,
    );
  }

  close(): void {
    this.#client.close();
  }
}

/** What one watcher was told, in order; an error ends it. */
export class Watch {
  readonly #stream: ClientDuplexStream<WatchRequest, WatchResponse>;
  readonly responses: WatchResponse[] = [];
  error: Error | undefined;
  onResponse: (response: WatchResponse) => void = () => undefined;

  constructor(
    stream: ClientDuplexStream<WatchRequest, WatchResponse>,
    create: { key: Buffer; rangeEnd?: Buffer; startRevision?: number },
  ) {
    this.#stream = stream;
    stream.on('data', (response: WatchResponse) => {
      this.responses.push(response);
      this.onResponse(response);
    });
    stream.on('error', (error) => {
      this.error = error;
    });
    const request = WatchRequest.decode(EMPTY);
    const createRequest = WatchCreateRequest.decode(EMPTY);
    stream.write({ ...request, createRequest: { ...createRequest, ...create } });
  }

  get created(): boolean {
    return this.responses.some((response) => response.created);
  }

  get events(): number {
    return this.responses.reduce((sum, response) => sum + response.events.length, 0);
  }

  get canceled(): WatchResponse | undefined {
    return this.responses.find((response) => response.canceled);
  }

  /** Asks for a progress notification: an answer without events. */
  requestProgress(): void {
    this.#stream.write({ ...WatchRequest.decode(EMPTY), progressRequest: {} });
  }

  close(): void {
    this.#stream.cancel();
  }
}
