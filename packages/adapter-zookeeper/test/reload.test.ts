import { fromByteString, LeaseKind } from '@lockstep/model';
import { LocalImage } from '@lockstep/replica';
import { createStateMachine, type StateReader } from '@lockstep/state-machine';
import { expect, test } from 'vitest';
import { zookeeperExtension } from '../src/extension.ts';
import { OpCode } from '../src/opcodes.ts';
import { childNames, childrenIndex, findNode, readData, ZOOKEEPER_KEYSPACE } from '../src/tree.ts';
import { BOOTSTRAP, DoorWorld } from './door-world.ts';
import { body } from './frames.ts';
import { RandomRequests } from './random-requests.ts';

/** All nodes with all that is known of them, by path. */
function dump(state: StateReader, path = '/'): unknown[] {
  const name = path === '/' ? '' : path;
  const data = readData(state, path);
  const rows: unknown[] = [[path, findNode(state, path), data && Buffer.from(data).toString()]];
  for (const child of childNames(state, path)) rows.push(...dump(state, `${name}/${child}`));
  return rows;
}

test.each([1, 2, 3, 4, 5])(
  'a machine loaded from its image has the same tree (seed %i)',
  (seed) => {
    const world = new DoorWorld();
    const clients = [world.connect(), world.connect(), world.connect()];
    clients[0]!.create('/root');
    const random = new RandomRequests(seed, '/root');
    for (let round = 0; round < 600; round++) {
      const client = clients[random.below(2)]!;
      client.send(...random.next());
      client.take();
    }
    clients[1]!.send(OpCode.CloseSession);
    clients[1]!.take();
    clients[2]!.ask(OpCode.SetAcl, body.setAcl('/', [{ perms: 7, scheme: 'world', id: 'anyone' }]));
    const { machine, image } = world;
    const loaded = createStateMachine({
      extensions: [zookeeperExtension],
      image: new LocalImage(),
      bootstrap: BOOTSTRAP,
    });
    for (const { key, value } of image.records()) loaded.load(fromByteString(key), value);
    loaded.loaded();
    expect(loaded.stateHash()).toBe(machine.stateHash());
    const zxid = (state: StateReader) =>
      state.lastRevision(ZOOKEEPER_KEYSPACE, LeaseKind.ZooKeeper);
    expect(zxid(loaded)).toBe(zxid(machine));
    expect(dump(loaded)).toEqual(dump(machine));
    expect(childrenIndex(loaded).nodes).toBe(dump(machine).length);
    expect(childrenIndex(loaded).dataBytes).toBe(childrenIndex(machine).dataBytes);
  },
);
