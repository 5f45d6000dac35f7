import type { ClientHttp2Session } from 'node:http2';
import { monotonicNs, type Operation, type Recorder } from '@lockstep/checker';
import { field, grpcFrame, PATHS, unary } from './etcd-client.ts';
import type { LoadClient } from './load.ts';
import { RespConnection, respCommand } from './redis-client.ts';
import { ZooKeeperConnection } from './zookeeper-client.ts';

let values = 0;

/** A value that nobody else writes, of the size asked for. */
function uniqueValue(size: number): string {
  return `v${++values}`.padEnd(size, '.');
}

/** Records what was asked from now on, when its answer is there. */
function begin(
  recorder: Recorder,
  base: Record<string, unknown>,
): (error: Error | undefined, told: Record<string, unknown>) => void {
  const call = monotonicNs();
  return (error, told) => {
    const end = { call, return: monotonicNs(), outcome: error === undefined ? 'ok' : 'unknown' };
    recorder.record({ ...base, ...end, ...(error === undefined && told) } as Operation);
  };
}

/** Puts or gets a key of its own and records it with the revisions of the answers. */
export function recordedEtcdClient(
  session: ClientHttp2Session,
  id: number,
  kind: 'put' | 'get',
  value: Buffer,
  recorder: Recorder,
): LoadClient {
  const key = `bench/${id}`;
  const base = { client: `etcd-${kind}-${id}`, door: 'etcd', key };
  const get = grpcFrame(field(1, Buffer.from(key)));
  const put = (text: string): Buffer =>
    grpcFrame(Buffer.concat([field(1, Buffer.from(key)), field(2, Buffer.from(text))]));
  return {
    next(done) {
      const text = kind === 'put' ? uniqueValue(value.length) : '';
      const request = kind === 'put' ? { op: 'write', value: text } : { op: 'read' };
      const record = begin(recorder, { ...base, ...request });
      const chunks: Buffer[] = [];
      const answered = (error?: Error): void => {
        record(error, error === undefined ? told(kind, Buffer.concat(chunks)) : {});
        done(error);
      };
      const frame = kind === 'put' ? put(text) : get;
      unary(session, PATHS[kind], frame, answered, (chunk) => chunks.push(chunk));
    },
    close: () => undefined,
  };
}

/** PutResponse: header 1 {revision 3}. RangeResponse: and kvs 2 {mod_revision 3, value 5}. */
function told(kind: 'put' | 'get', frame: Buffer): Record<string, unknown> {
  const answer = fieldsOf(frame.subarray(5));
  const header = fieldsOf(answer.get(1) as Buffer);
  const revision = header.get(3) as number;
  if (kind === 'put') return { revision };
  const found = answer.get(2) as Buffer | undefined;
  if (found === undefined) return { revision, result: null };
  const kv = fieldsOf(found);
  return { revision, mod: kv.get(3), result: String(kv.get(5) ?? '') };
}

/** Protobuf fields by number: varints as numbers, the rest as bytes; the last of each counts. */
function fieldsOf(bytes: Buffer): Map<number, number | Buffer> {
  const fields = new Map<number, number | Buffer>();
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = bytes[at++] ?? 0;
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
    }
  };
  while (at < bytes.length) {
    const tag = varint();
    if ((tag & 7) === 0) fields.set(tag >> 3, varint());
    else {
      const length = varint();
      fields.set(tag >> 3, bytes.subarray(at, at + length));
      at += length;
    }
  }
  return fields;
}

/** Sets or gets a node of its own; gets are local reads. */
export function recordedZooKeeperClient(
  port: number,
  id: number,
  kind: 'set' | 'get',
  value: Buffer,
  recorder: Recorder,
): LoadClient {
  const connection = new ZooKeeperConnection(port);
  const key = `/bench-${id}`;
  // A session of its own each time: local reads are held to what their session has seen.
  const base = { client: `zookeeper-${kind}-${++values}`, door: 'zookeeper', key };
  let created = false;
  return {
    next(done) {
      const failure = (error: number): Error | undefined =>
        error === 0 ? undefined : new Error(`ZooKeeper error ${error}`);
      if (!created) {
        created = true;
        // Not recorded: whether it was there already nobody knows. A first set says what it holds.
        connection.create(key, Buffer.alloc(0), (error) => done(failure(error)));
        return;
      }
      const text = kind === 'set' ? uniqueValue(value.length) : '';
      const request = kind === 'set' ? { op: 'write', value: text } : { op: 'read', weak: true };
      const record = begin(recorder, { ...base, ...request });
      const answered = (error: number, frame: Buffer): void => {
        record(failure(error), error === 0 ? toldByZooKeeper(kind, frame) : {});
        done(failure(error));
      };
      if (kind === 'set') connection.setData(key, Buffer.from(text), answered);
      else connection.getData(key, answered);
    },
    close: () => connection.close(),
  };
}

/** Reply header (xid, zxid, error), then for a get the data, then the Stat: czxid, mzxid … */
function toldByZooKeeper(kind: 'set' | 'get', frame: Buffer): Record<string, unknown> {
  const revision = Number(frame.readBigInt64BE(4));
  if (kind === 'set') return { revision: Number(frame.readBigInt64BE(16 + 8)) };
  const length = Math.max(0, frame.readInt32BE(16));
  const mod = Number(frame.readBigInt64BE(20 + length + 8));
  return { revision, mod, result: frame.toString('utf8', 20, 20 + length) };
}

/** Takes and releases a lock of its own, with the token that the answer carries. */
export function recordedRedisLockClient(
  port: number,
  id: number,
  sha: string,
  recorder: Recorder,
): LoadClient {
  const connection = new RespConnection(port);
  const key = `bench:recorded:${++values}`;
  const base = { client: `redis-lock-${id}-${values}`, door: 'redis', key };
  let owner = '';
  let token = 0;
  return {
    next(done) {
      if (token === 0) {
        owner = uniqueValue(28);
        const record = begin(recorder, { ...base, op: 'acquire', owner, ttlMs: 30_000 });
        const words = ['SET', key, owner, 'NX', 'PX', '30000', 'FENCE'];
        connection.send(respCommand(words), (reply) => {
          const error = reply.startsWith(':') ? undefined : new Error(reply);
          token = error === undefined ? Number(reply.slice(1)) : 0;
          record(error, { result: token });
          done(error);
        });
        return;
      }
      const record = begin(recorder, { ...base, op: 'release', token });
      connection.send(respCommand(['EVALSHA', sha, '1', key, owner]), (reply) => {
        const error = reply === ':1' ? undefined : new Error(reply);
        token = 0;
        record(error, { result: true });
        done(error);
      });
    },
    close: () => connection.close(),
  };
}
