import { afterEach, describe, expect, it } from 'vitest';
import { type Mesh, type MeshOptions, openMesh } from '../src/index.ts';
import { type Probe, probe } from './network-suite.ts';

const opened: Mesh[] = [];

/** A started member of one cluster; `logs` are the lines it said. */
async function start(member: number, options: Partial<MeshOptions> = {}) {
  const logs: string[] = [];
  const mesh = await new Promise<Mesh>((resolve, reject) => {
    const log = (text: string) => void logs.push(text);
    openMesh(
      {
        ...{ listen: '127.0.0.1:0', cluster: '00000000000000aa', incarnation: 1, member, log },
        ...{ dataDirectory: `uuid-${member}`, dialPatienceMs: 50 },
        ...options,
      },
      (error, open) => (error === undefined ? resolve(open) : reject(error)),
    );
  });
  opened.push(mesh);
  const heard: Probe = probe(mesh);
  mesh.start(heard.handler);
  return { mesh, logs, ...heard };
}

const at = (id: number, { mesh }: { mesh: Mesh }) => [{ id, address: mesh.address }];

describe('a member that is not known here', () => {
  afterEach(async () => {
    for (const mesh of opened.splice(0)) await new Promise<void>((done) => mesh.close(done));
  });

  it('links itself when it may have joined meanwhile, and both can speak', async () => {
    const one = await start(1, { verify: () => undefined });
    const four = await start(4);
    four.mesh.setPeers(at(1, one));
    await expect.poll(() => [one.told, four.told]).toEqual([['up 4/1'], ['up 1/1']]);
    expect(one.mesh.send(4, Buffer.from('a vote'))).toBe(true);
    await expect.poll(() => four.frames).toEqual(['1 control a vote']);
    await expect.poll(() => one.mesh.send(4, Buffer.from('a chunk'), 'bulk')).toBe(true);
    await expect.poll(() => four.frames).toContain('1 bulk a chunk');
  });

  it('keeps its link when it is known at last', async () => {
    const one = await start(1, { verify: () => undefined });
    const four = await start(4);
    four.mesh.setPeers(at(1, one));
    await expect.poll(() => one.told).toEqual(['up 4/1']);
    one.mesh.setPeers(at(4, four));
    await expect.poll(() => one.mesh.send(4, Buffer.from('x'), 'bulk')).toBe(true);
    one.mesh.setPeers(at(4, four));
    expect([one.told, four.told]).toEqual([['up 4/1'], ['up 1/1']]);
    // The side with the smaller id answers the loss, as for every peer.
    four.mesh.reset(four.links[0]!, 'a frame is malformed');
    await expect.poll(() => one.told, { timeout: 5000 }).toEqual(['up 4/1', 'down 4/1', 'up 4/1']);
  });

  it('loses its link when it turns out to be removed', async () => {
    let isRemoved = false;
    const one = await start(1, {
      verify: (_, isPeer) => (!isPeer && isRemoved ? 'member 4 was removed' : undefined),
    });
    const four = await start(4);
    four.mesh.setPeers(at(1, one));
    await expect.poll(() => one.told).toEqual(['up 4/1']);
    one.mesh.setPeers([]);
    expect(one.told).toEqual(['up 4/1']);
    isRemoved = true;
    one.mesh.setPeers([]);
    expect(one.told).toEqual(['up 4/1', 'down 4/1']);
    await expect
      .poll(() => four.logs.join())
      .toContain('no link with member 1: member 4 was removed');
    expect(one.told.length).toBe(2);
  });

  it('is one of sixteen at most', async () => {
    const one = await start(1, { verify: () => undefined });
    for (let id = 2; id < 18; id++) (await start(id)).mesh.setPeers(at(1, one));
    await expect.poll(() => one.told.length).toBe(16);
    const late = await start(18);
    late.mesh.setPeers(at(1, one));
    await expect.poll(() => late.logs.join()).toContain('too many unknown members');
    expect(one.told.length).toBe(16);
  });
});

describe('of two members that know each other', () => {
  afterEach(async () => {
    for (const mesh of opened.splice(0)) await new Promise<void>((done) => mesh.close(done));
  });

  it('the larger id dials when the smaller cannot reach it', async () => {
    const one = await start(1);
    const two = await start(2);
    one.mesh.setPeers([{ id: 2, address: '127.0.0.1:1' }]);
    two.mesh.setPeers(at(1, one));
    await expect.poll(() => [one.told, two.told]).toEqual([['up 2/1'], ['up 1/1']]);
  });

  it('one link stays, without a change, when both dial again and again', async () => {
    const one = await start(1, { dialPatienceMs: 0 });
    const two = await start(2, { dialPatienceMs: 0 });
    two.mesh.setPeers(at(1, one));
    one.mesh.setPeers(at(2, two));
    for (let round = 0; round < 20; round++) {
      await expect.poll(() => one.mesh.send(2, Buffer.from(`${round}`))).toBe(true);
      await expect.poll(() => two.frames.at(-1)).toBe(`1 control ${round}`);
      await expect.poll(() => two.mesh.send(1, Buffer.from(`${round}`), 'bulk')).toBe(true);
      await expect.poll(() => one.frames.at(-1)).toBe(`2 bulk ${round}`);
      expect(one.told.length).toBe(2 * round + 1);
      expect(two.told.length).toBe(2 * round + 1);
      const [side, other] = round % 2 === 0 ? [one, two] : [two, one];
      side.mesh.setPeers([]);
      side.mesh.setPeers(at(side === one ? 2 : 1, other));
      for (const each of [one, two]) {
        await expect.poll(() => each.told.length).toBeGreaterThan(2 * round + 2);
      }
    }
  });
});
