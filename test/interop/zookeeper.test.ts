import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type OpenDoor, openDoor } from '../../packages/adapter-zookeeper/test/open-door.ts';
import { hasZooKeeper, RealZooKeeper } from './zookeeper/real-zookeeper.ts';
import { runScript } from './zookeeper/script.ts';

/** Where installed clients are missing these tests are skipped, but never on CI. */
const skipUnless = (present: boolean) => !present && process.env.CI === undefined;

/** Members to test, `host:port` with commas between; a door in this process when not given. */
const MEMBERS = process.env.LOCKSTEP_ZOOKEEPER;

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

  test('the same requests get the same answers and events in the same order', async () => {
    const wanted = await runScript(real.address, '/transcript');
    for (const [at, address] of addresses.entries()) {
      const found = await runScript(address, `/transcript${at}`);
      const plain = found.map((line) => line.replaceAll(`/transcript${at}`, '/transcript'));
      expect(plain).toEqual(wanted);
    }
  });
});
