import { createServer } from 'node:net';
import { type LockstepError, utf8Text } from '@lockstep/model';
import { afterEach, describe, expect, it } from 'vitest';
import WebSocket from 'ws';
import { type Mesh, type MeshOptions, openMesh } from '../src/index.ts';
import { networkSuite, probe } from './network-suite.ts';

const opened: Mesh[] = [];

function open(options: Partial<MeshOptions> & { member: number }): Promise<Mesh> {
  return new Promise((resolve, reject) => {
    openMesh(
      {
        listen: '127.0.0.1:0',
        cluster: '00000000000000aa',
        incarnation: 1,
        dataDirectory: `uuid-${options.member}`,
        ...options,
      },
      (error, mesh) => {
        if (error !== undefined) reject(error);
        else {
          opened.push(mesh);
          resolve(mesh);
        }
      },
    );
  });
}

async function until(condition: () => boolean): Promise<void> {
  const endMs = Date.now() + 5000;
  while (!condition()) {
    if (Date.now() > endMs) throw new Error('not in time');
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

async function closeAll(): Promise<void> {
  for (const mesh of opened.splice(0)) {
    await new Promise<void>((resolve) => mesh.close(resolve));
  }
}

networkSuite('the mesh over WebSockets', async () => {
  const addresses = new Map<number, string>();
  return {
    async open(member, incarnation) {
      // A member comes back on the address it had.
      const listen = addresses.get(member) ?? '127.0.0.1:0';
      const mesh = await open({ member, incarnation, listen });
      addresses.set(member, mesh.address);
      const result = probe(mesh);
      mesh.start(result.handler);
      if (member === 2) result.network.setPeers([{ id: 1, address: '127.0.0.1:1' }]);
      const dials = opened[0]!;
      if (member === 2) dials.setPeers([{ id: 2, address: mesh.address }]);
      return result;
    },
    until,
    close: closeAll,
  };
});

describe('a mesh', () => {
  afterEach(closeAll);

  async function pair(two: Partial<MeshOptions>) {
    const logs: string[][] = [[], []];
    const log = (side: number) => (text: string) => void logs[side]!.push(text);
    const a = await open({ member: 1, log: log(0) });
    const b = await open({ member: 2, log: log(1), ...two });
    const probes = [probe(a), probe(b)];
    a.start(probes[0]!.handler);
    b.start(probes[1]!.handler);
    b.setPeers([{ id: 1, address: a.address }]);
    a.setPeers([{ id: 2, address: b.address }]);
    return { a, b, logs, probes };
  }

  it('refuses a member of another cluster and says so on both sides', async () => {
    const { logs, probes } = await pair({ cluster: '00000000000000bb' });
    await until(() => logs[0]!.length > 0 && logs[1]!.length > 0);
    expect(logs[0]![0]).toContain('cluster 00000000000000aa is not 00000000000000bb');
    expect(logs[1]![0]).toContain('cluster 00000000000000aa is not 00000000000000bb');
    expect(probes[0]!.told).toEqual([]);
  });

  it('refuses a known member that comes with another data directory', async () => {
    const verify = (theirs: { dataDirectory: string }) =>
      theirs.dataDirectory === 'uuid-1' ? 'remove the member and add it again' : undefined;
    const { logs } = await pair({ verify });
    await until(() => logs[0]!.length > 0);
    expect(logs[0]![0]).toContain('remove the member and add it again');
  });

  it('refuses a member it does not know', async () => {
    const { a, b, logs } = await pair({});
    b.setPeers([]);
    a.setPeers([]);
    a.setPeers([{ id: 2, address: b.address }]);
    await until(() => logs[0]!.some((line) => line.includes('member 1 is not known here')));
  });

  it('survives an address that is none, and links when it is a good one', async () => {
    const { a, b, logs, probes } = await pair({});
    await until(() => probes[0]!.told.length === 1);
    a.setPeers([{ id: 3, address: '127.0.0.1:99999999' }]);
    await until(() => logs[0]!.some((line) => line.startsWith('member 3 at 127.0.0.1:99999999')));
    a.setPeers([{ id: 2, address: b.address }]);
    await until(() => probes[0]!.told.at(-1) === 'up 2/1' && probes[0]!.told.length === 3);
  });

  it('names the flag when its address is in use', async () => {
    const blocker = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => blocker.once('listening', resolve));
    const { port } = blocker.address() as { port: number };
    const error = await open({ member: 1, listen: `127.0.0.1:${port}` }).catch((e) => e);
    blocker.close();
    expect((error as LockstepError).code).toBe('ADDRESS_IN_USE');
    expect((error as LockstepError).message).toBe(`127.0.0.1:${port} is in use`);
    expect((error as LockstepError).hint).toContain('--listen-peer');
  });

  it('closes a socket that talks rubbish instead of a handshake', async () => {
    const mesh = await open({ member: 1 });
    mesh.start(probe(mesh).handler);
    const socket = new WebSocket(`ws://${mesh.address}/peer`);
    socket.on('open', () => socket.send(Buffer.from([0xdd, 0xff, 0xff, 0xff, 0xff])));
    const [code, reason] = await new Promise<[number, Buffer]>((resolve) => {
      socket.on('close', (c, r) => resolve([c, r]));
    });
    expect(code).toBe(4001);
    expect(utf8Text(reason)).toContain('not used in control messages');
  });

  it('drops frames beyond the limit of unsent bytes', async () => {
    const { a, probes } = await pair({});
    await until(() => probes[0]!.told.length === 1);
    const limited = await open({ member: 3, unsentBytesMax: 10 });
    expect(limited.send(1, new Uint8Array(5))).toBe(false);
    const big = new Uint8Array(8 * 1024 * 1024);
    let sent = 0;
    while (a.send(2, big) && sent < 100) sent++;
    expect(sent).toBeLessThan(100);
    expect(sent).toBeGreaterThan(0);
  });

  it('tells who is who to a member that asks before it joins', async () => {
    const mesh = await open({ member: 1, describe: () => ({ cluster: 'aa' }) });
    const answer = await fetch(`http://${mesh.address}/members`);
    expect(await answer.json()).toEqual({ cluster: 'aa' });
  });
});
