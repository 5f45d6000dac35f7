import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { HEALTH, KV, MAINTENANCE, WATCH } from '../src/services/api.ts';
import { b, DoorFixture } from './door-fixture.ts';

let door: DoorFixture;

beforeEach(async () => {
  door = await DoorFixture.open({
    metrics: (done) => done(undefined, 'etcd_server_has_leader 1\n'),
  });
});

afterEach(() => door.close());

const get = async (path: string, method = 'GET') => {
  const response = await fetch(`http://127.0.0.1:${door.handle.port}${path}`, { method });
  return [response.status, await response.text()];
};
const closed = (socket: Socket) =>
  new Promise<string>((resolve) => {
    let received = '';
    socket.on('data', (bytes) => {
      received += bytes.toString('latin1');
    });
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(received));
  });
const stillServes = async () => {
  await door.call(KV.put, { key: b('alive') });
  expect((await door.call(KV.range, { key: b('alive') })).count).toBe(1);
};

describe('HTTP/1 on the same port', () => {
  it('answers health, version and metrics', async () => {
    expect(await get('/health')).toEqual([200, '{"health":"true","reason":""}']);
    expect(JSON.parse((await get('/version'))[1] as string)).toEqual({
      etcdserver: expect.stringMatching(/^3\.6\.\d+$/),
      etcdcluster: '3.6.0',
      storage: '3.6.0',
    });
    expect(await get('/metrics')).toEqual([200, 'etcd_server_has_leader 1\n']);
    expect(await get('/readyz')).toEqual([200, 'ok\n']);
    expect(await get('/v2/keys')).toEqual([404, '404 page not found\n']);
    expect((await get('/health', 'POST'))[0]).toBe(405);
  });

  it('is unhealthy without a leader, but for those who do not need one', async () => {
    door.replica.setContact(false);
    expect(await get('/health')).toEqual([503, '{"health":"false","reason":"RAFT NO LEADER"}\n']);
    expect((await get('/health?serializable=true'))[0]).toBe(200);
  });
});

describe('gRPC health', () => {
  it('knows the empty service name only', async () => {
    expect((await door.call(HEALTH.check)).status).toBe(1);
    expect(await door.refusal(HEALTH.check, { service: 'x' })).toBe('5 unknown service');
  });
});

describe('bad input', () => {
  const open = () => connect(door.handle.port, '127.0.0.1');

  it('closes a connection that speaks neither protocol', async () => {
    const socket = open();
    socket.write(Buffer.from(Array.from({ length: 500 }, (_, at) => (at * 131 + 7) % 256)));
    expect(await closed(socket)).toMatch(/^HTTP\/1.1 400/);
    await stillServes();
  });

  it('closes an HTTP/2 connection whose frames are garbage', async () => {
    const socket = open();
    socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
    socket.write(Buffer.alloc(4000, 0xff));
    await closed(socket);
    await stillServes();
  });

  it('waits for the rest of a preface that comes byte by byte', async () => {
    const socket = open();
    socket.setNoDelay(true);
    for (const byte of 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n') {
      await new Promise<void>((resolve) => socket.write(byte, () => resolve()));
    }
    const settings = await new Promise<Buffer>((resolve) => socket.once('data', resolve));
    expect(settings[3]).toBe(4);
    socket.destroy();
  });

  it('survives clients that leave in the middle of a frame', async () => {
    for (let cut = 1; cut < 40; cut += 3) {
      const socket = open();
      const frame = Buffer.concat([
        Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
        Buffer.from([0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 100]),
      ]);
      await new Promise<void>((resolve) => socket.write(frame.subarray(0, cut), () => resolve()));
      socket.destroy();
    }
    await stillServes();
  });

  it('refuses a message over the limit with the RPC layer’s own error', async () => {
    const value = Buffer.alloc(3 * 1024 * 1024);
    expect(await door.refusal(KV.put, { key: b('a'), value })).toMatch(
      /^8 .*larger than max \(\d+ vs\.? 2097152\)/,
    );
    await stillServes();
  });

  it('refuses a message that is no protobuf', async () => {
    const error = await new Promise<{ code: number }>((resolve) => {
      door.client.makeUnaryRequest(
        KV.put.path,
        () => Buffer.from([0xff, 0xff, 0xff, 0xff]),
        (bytes: Buffer) => bytes,
        {},
        (failed) => resolve(failed!),
      );
    });
    expect(error.code).toBe(13);
    await stillServes();
  });
});

describe('failures of the member', () => {
  it('says timed out when the outcome of a write is unknown', async () => {
    door.replica.setContact(false);
    const write = door.refusal(KV.put, { key: b('a') });
    const read = door.refusal(KV.range, { key: b('a') });
    while (door.replica.status().pendingCommands === 0) await new Promise(setImmediate);
    await new Promise(setImmediate);
    door.replica.failPending('UNKNOWN_OUTCOME');
    expect(await write).toBe('14 etcdserver: request timed out');
    expect(await read).toBe('14 etcdserver: request timed out');
  });

  it('sends clients elsewhere while it replays its log, but tells its status', async () => {
    door.replica.setServing(false);
    const noLeader = '14 etcdserver: no leader';
    expect(await door.refusal(KV.range, { key: b('a'), serializable: true })).toBe(noLeader);
    expect(await door.refusal(KV.put, { key: b('a') })).toBe(noLeader);
    expect(await door.stream(WATCH.watch).ended).toBe(noLeader);
    expect(await door.refusal(MAINTENANCE.status)).toBe('no error');
    expect((await door.call(HEALTH.check)).status).toBe(2);
  });

  it('answers serializable reads without a leader', async () => {
    await door.call(KV.put, { key: b('a') });
    door.replica.setContact(false);
    expect((await door.call(KV.range, { key: b('a'), serializable: true })).count).toBe(1);
  });
});

describe('closing', () => {
  it('ends open streams and frees the port', async () => {
    const { port } = door.handle;
    await door.close();
    const socket = connect(port, '127.0.0.1');
    expect(
      await new Promise((resolve) => socket.once('error', ({ message }) => resolve(message))),
    ).toMatch(/ECONNREFUSED/);
    door = await DoorFixture.open();
  });
});
