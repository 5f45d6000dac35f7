import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import WebSocket from 'ws';
import { encodeHandshake, type Handshake } from '../src/handshake.ts';
import { type Mesh, openMesh } from '../src/index.ts';
import { probe } from './network-suite.ts';

const CLUSTER = '00000000000000aa';
const opened: Mesh[] = [];
const sockets: (WebSocket | Socket)[] = [];
let lines: string[] = [];

/** Of a cluster in which member 1 lives where nobody listens. */
async function openMember() {
  const mesh = await openListening();
  const handled = probe(mesh);
  mesh.start(handled.handler);
  mesh.setPeers([{ id: 1, address: '127.0.0.1:1' }]);
  return { mesh, handled };
}

/** A member that listens, but takes no part yet. */
async function openListening(): Promise<Mesh> {
  lines = [];
  const mesh = await new Promise<Mesh>((resolve, reject) => {
    openMesh(
      {
        listen: '127.0.0.1:0',
        cluster: CLUSTER,
        member: 2,
        incarnation: 5,
        dataDirectory: 'uuid-2',
        refused: (text) => lines.push(text),
      },
      (error, open) => (error === undefined ? resolve(open) : reject(error)),
    );
  });
  opened.push(mesh);
  return mesh;
}

/** Upgrades and says nonsense in the same packet; resolves when it is closed. */
function upgradeWith(mesh: Mesh, nonsense: Buffer): Promise<void> {
  const [host, port] = mesh.address.split(':');
  const socket = connect(Number(port), host);
  sockets.push(socket);
  const head = ['GET /peer HTTP/1.1', 'Host: x', 'Connection: Upgrade', 'Upgrade: websocket'];
  const key = Buffer.alloc(16).toString('base64');
  const rest = ['Sec-WebSocket-Version: 13', `Sec-WebSocket-Key: ${key}`, '', ''];
  socket.on('error', () => {});
  socket.write(Buffer.concat([Buffer.from([...head, ...rest].join('\r\n')), nonsense]));
  socket.resume();
  return new Promise((resolve) => socket.once('close', () => resolve()));
}

const hello = (change: Partial<Handshake> = {}): Uint8Array =>
  encodeHandshake({
    protocol: 1,
    channel: 'control',
    cluster: CLUSTER,
    member: 1,
    target: 2,
    incarnation: 3,
    dataDirectory: 'uuid-1',
    link: 7,
    levels: { oldest: 1, newest: 2 },
    ...change,
  });

/** Sends these messages once open; resolves with the close code and reason. */
function dial(mesh: Mesh, ...messages: (Uint8Array | string)[]) {
  const socket = new WebSocket(`ws://${mesh.address}/peer`);
  sockets.push(socket);
  socket.on('open', () => {
    for (const message of messages) socket.send(message);
  });
  socket.on('error', () => {});
  const answered = new Promise<void>((resolve) => socket.once('message', () => resolve()));
  const closed = new Promise<string>((resolve) =>
    socket.once('close', (code, reason) => resolve(`${code} ${reason}`)),
  );
  return { socket, answered, closed };
}

afterEach(async () => {
  for (const socket of sockets.splice(0)) {
    if (socket instanceof WebSocket) socket.terminate();
    else socket.destroy();
  }
  for (const mesh of opened.splice(0)) await new Promise<void>((done) => mesh.close(done));
});

describe('a peer that is none', () => {
  it.each<[string, Partial<Handshake>, string]>([
    ['another cluster', { cluster: '00000000000000bb' }, 'cluster 00000000000000bb is not'],
    ['another protocol', { protocol: 99 }, 'peer protocol 99 is not 1: upgrade the older member'],
    ['the id of the member itself', { member: 2 }, 'member 2 is this member: check addresses'],
    ['an id nobody has', { member: 9 }, 'member 9 is not known here'],
    ['another target', { target: 3 }, 'member 3 was wanted, this is 2: check addresses'],
  ])('with %s is refused, and the log says why', async (_, change, reason) => {
    const { mesh, handled } = await openMember();
    expect(await dial(mesh, hello(change)).closed).toContain(`4001 ${reason}`);
    expect(lines.join()).toContain(reason);
    expect(handled.told).toEqual([]);
  });

  it('that replays an old handshake is refused, also while the member is away', async () => {
    const { mesh, handled } = await openMember();
    const real = dial(mesh, hello({ incarnation: 3, link: 7 }));
    await real.answered;
    expect(await dial(mesh, hello({ incarnation: 3, link: 7 })).closed).toContain('newer link');
    expect(await dial(mesh, hello({ incarnation: 2, link: 99 })).closed).toContain(
      'incarnation 2 of member 1 is over, 3 was here',
    );
    real.socket.terminate();
    await expect.poll(() => handled.told).toEqual(['up 1/3', 'down 1/3']);
    expect(await dial(mesh, hello({ incarnation: 3, link: 7 })).closed).toContain('newer link');
    await dial(mesh, hello({ incarnation: 4, link: 1 })).answered;
    expect(handled.told).toEqual(['up 1/3', 'down 1/3', 'up 1/4']);
  });

  it('that sends more than a handshake is cut off before it is kept', async () => {
    const { mesh } = await openMember();
    const { closed } = dial(mesh, new Uint8Array(32 * 1024 * 1024));
    await closed;
    expect(lines).toEqual(['no link with 127.0.0.1: more came than a handshake']);
  });

  it('whose frames make no sense is not listened to for a while', async () => {
    const { mesh, handled } = await openMember();
    const real = dial(mesh, hello({ link: 7 }));
    await real.answered;
    mesh.reset(handled.links[0]!, 'frame of member 1 is malformed: tag 9');
    await real.closed;
    expect(await dial(mesh, hello({ link: 8 })).closed).toContain('malformed a moment ago');
    expect(lines[0]).toBe('frame of member 1 is malformed: tag 9');
  });

  it('that speaks no HTTP, or half of it, is told so and closed in time', async () => {
    const { mesh } = await openMember();
    const [host, port] = mesh.address.split(':');
    const raw = (text: string): Promise<string> =>
      new Promise((resolve) => {
        const socket = connect(Number(port), host);
        sockets.push(socket);
        let answer = '';
        socket.on('data', (bytes) => {
          answer += bytes.toString('latin1');
        });
        socket.on('close', () => resolve(answer));
        socket.write(text);
      });
    expect(await raw('\u0001\u0002rubbish\r\n\r\n')).toContain('400 Bad Request');
    expect(lines).toEqual(['no link with 127.0.0.1: no request: HPE_INVALID_METHOD']);
    expect(await raw('GET /peer HTTP/1.1\r\nHost:')).toContain('400 Bad Request');
    expect(lines.at(-1)).toBe('no link with 127.0.0.1: no request: ERR_HTTP_REQUEST_TIMEOUT');
  });

  it.each([
    ['reserved bits', Buffer.from([0xf2, 0x80, 0, 0, 0, 0])],
    ['an absurd length', Buffer.from([0x82, 0xff, 0x7f, ...new Array<number>(11).fill(0xff)])],
  ])('with %s ends no member, whether it starts or has its hands full', async (_, nonsense) => {
    await upgradeWith(await openListening(), nonsense);
    const { mesh } = await openMember();
    const flood = Array.from({ length: 80 }, () => dial(mesh));
    await Promise.race(flood.map(({ closed }) => closed));
    await upgradeWith(mesh, nonsense);
  });

  it('in a flood is turned away with one line, and members come in behind it', async () => {
    const { mesh, handled } = await openMember();
    const flood = Array.from({ length: 200 }, () => dial(mesh));
    await Promise.race(flood.map(({ closed }) => closed));
    await expect.poll(() => flood.filter(({ socket }) => socket.readyState === 3).length).toBe(136);
    expect(lines).toEqual(['no link with 127.0.0.1: 64 connections wait already']);
    for (const { socket } of flood) socket.terminate();
    await expect
      .poll(async () => {
        const member = dial(mesh, hello({ link: 100 + handled.told.length }));
        await Promise.race([member.answered, member.closed]);
        return handled.told[0];
      })
      .toBe('up 1/3');
  });
});
