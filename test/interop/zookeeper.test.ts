import zookeeper from 'node-zookeeper-client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type OpenDoor, openDoor } from '../../packages/adapter-zookeeper/test/open-door.ts';
import { runProgram } from './zookeeper/program.ts';
import {
  hasKazoo,
  hasZkCli,
  hasZooKeeper,
  PYTHON,
  RealZooKeeper,
  ZKCLI,
} from './zookeeper/real-zookeeper.ts';
import { runRandom, runScript } from './zookeeper/script.ts';

/** Where installed clients are missing these tests are skipped, but never on CI. */
const skipUnless = (present: boolean) => !present && process.env.CI === undefined;

/** Members to test, `host:port` with commas between; a door in this process when not given. */
const MEMBERS = process.env.LOCKSTEP_ZOOKEEPER;

/** Names the nodes of this run, so that it may be repeated on one cluster. */
const TAG = `interop-${Date.now().toString(36)}`;

let door: OpenDoor | undefined;
let addresses: string[];

beforeAll(async () => {
  if (MEMBERS === undefined) door = await openDoor();
  addresses = door === undefined ? (MEMBERS ?? '').split(',') : [door.address];
});

afterAll(async () => {
  await door?.close();
});

describe.skipIf(skipUnless(hasZooKeeper))('beside a real ZooKeeper', () => {
  let real: RealZooKeeper;

  beforeAll(async () => {
    real = await RealZooKeeper.start();
  });

  afterAll(() => real.stop());

  /** Runs the same beside the real server and on each member, which may be in use already. */
  async function compare(run: (address: string, root: string) => Promise<string[]>) {
    const wanted = await run(real.address, `/${TAG}`);
    for (const [at, address] of addresses.entries()) {
      const root = `/${TAG}-${at}`;
      const found = await run(address, root);
      expect(found.map((line) => line.replaceAll(root, `/${TAG}`))).toEqual(wanted);
    }
  }

  test('the same requests get the same answers and events in the same order', () =>
    compare((address, root) => runScript(address, `${root}-script`)));

  test.each([1, 2, 3])('random requests get the same answers and events (seed %i)', (seed) =>
    compare((address, root) => runRandom(address, `${root}-${seed}`, seed, 500)),
  );
});

describe.skipIf(skipUnless(hasKazoo))('kazoo', () => {
  test('locks, elections, barriers, queues and watchers work', async () => {
    const recipes = new URL('./zookeeper/recipes.py', import.meta.url).pathname;
    const run = await runProgram(PYTHON, [recipes, addresses.join(','), TAG]);
    expect(run.output.trim().split('\n'), run.errors).toEqual([
      ...['basics', 'transactions', 'permissions', 'watches', 'lock'],
      ...['dead holder', 'election', 'barrier', 'queues', 'reattach'],
    ]);
    expect(run.code, run.errors).toBe(0);
  });
});

describe.skipIf(skipUnless(hasZkCli))('zkCli', () => {
  test('its commands do what they say', async () => {
    const commands = [
      'create /cli data',
      'create -s /cli/s- x',
      'create -e /cli/e x',
      'create -c /cli/box',
      'create -t 100000 /cli/ttl',
      'ls /cli',
      'ls -R /cli',
      'get /cli',
      'set /cli newer',
      'get -w /cli',
      'set /cli newest',
      'stat /cli',
      'getAcl /cli',
      'addauth digest bob:pw',
      'setAcl /cli/e auth::cdrwa',
      'getAcl /cli/e',
      'whoami',
      'sync /cli',
      'getEphemerals /cli',
      'getAllChildrenNumber /cli',
      'addWatch /cli/w',
      'create /cli/w x',
      'removewatches /cli/w -a',
      'delete /cli/none',
      'setquota -n 100 /cli/box',
      'listquota /cli/box',
      'delquota -n /cli/box',
      'config',
      'deleteall /cli',
      'ls /cli',
      'quit',
    ];
    const args = ['-server', addresses[0]!];
    const run = await runProgram(ZKCLI, args, `${commands.join('\n')}\n`);
    const output = run.output + run.errors;
    for (const expected of [
      'Created /cli\n',
      'Created /cli/s-0000000000\n',
      'Created /cli/e\n',
      '[box, e, s-0000000000, ttl]\n',
      'newer\n',
      'type:NodeDataChanged path:/cli\n',
      'dataVersion = 2\n',
      "'world,'anyone\n: cdrwa\n",
      "'digest,'bob:",
      'Sync is OK\n',
      '[/cli/e]\n',
      'type:NodeCreated path:/cli/w\n',
      'Node does not exist: /cli/none\n',
      'Node does not exist: /cli\n',
    ]) {
      expect(output).toContain(expected);
    }
  });
});

describe('node-zookeeper-client', () => {
  test('its handshake without readOnly and its first xid of 0 are understood', async () => {
    const client = zookeeper.createClient(addresses.join(','), { sessionTimeout: 8000 });
    await new Promise<void>((resolve) => {
      client.once('connected', () => resolve());
      client.connect();
    });
    const path = await new Promise<string>((resolve, reject) => {
      const { EPHEMERAL_SEQUENTIAL } = zookeeper.CreateMode;
      const data = Buffer.from('data');
      client.create('/nzc-', data, EPHEMERAL_SEQUENTIAL, (error, created) => {
        if (error) reject(error);
        else resolve(created);
      });
    });
    expect(path).toMatch(/^\/nzc-\d{10}$/);
    const event = new Promise<string>((resolve) => {
      client.getData(
        path,
        (seen) => resolve(seen.getName()),
        () => client.setData(path, Buffer.from('newer'), () => {}),
      );
    });
    expect(await event).toBe('NODE_DATA_CHANGED');
    await new Promise<void>((resolve) => {
      client.once('disconnected', () => resolve());
      client.close();
    });
  });
});
