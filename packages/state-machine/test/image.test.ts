import { encodeCommand, LeaseKind, UnknownFormatError } from '@lockstep/model';
import { describe, expect, test } from 'vitest';
import {
  CHECK_BYTES,
  encodeAdvanceRevision,
  encodeCheckHash,
  encodeRaiseFeatureLevel,
  encodeSetOption,
  Table,
} from '../src/index.ts';
import { StateHasher } from '../src/state-hash.ts';
import { Driver } from './driver.ts';
import { TOY, TREE } from './toy.ts';

const fill = (driver: Driver) => {
  driver.do({ do: 'put', in: 'plain', key: 'a', value: 'x' });
  driver.do({ do: 'put', in: 'store', key: 'a', value: 'x' });
};

/** With the check that a row of that content has. */
function sealed(table: number, key: string, bytes: Uint8Array): Uint8Array {
  const { a } = new StateHasher().start(table).text(key).finish(bytes, CHECK_BYTES);
  new DataView(bytes.buffer, bytes.byteOffset).setInt32(0, a, true);
  return bytes;
}

describe('the image', () => {
  test('of a machine that has applied nothing is empty; the first entry brings the seeds', () => {
    const driver = new Driver();
    expect(driver.image.size).toBe(0);
    driver.tick(1);
    const twin = driver.reloaded();
    expect(twin.machine.clusterId).toBe(0xfeed_0000_0000_0001n);
    expect(twin.machine.members().map(({ name }) => name)).toEqual(['n1', 'n2', 'n3']);
    expect(twin.machine.option(TOY.options![0]!)).toBe(7);
  });

  test('of newer software is refused and not taken for damaged', () => {
    const meta = new Driver();
    fill(meta);
    const bytes = Uint8Array.from(meta.image.get('\0\0')!);
    bytes[CHECK_BYTES] = 2;
    meta.image.set('\0\0', sealed(Table.Meta, '', bytes));
    expect(() => meta.reloaded()).toThrow(new UnknownFormatError('image format 2 is unknown'));
    const record = new Driver();
    fill(record);
    const key = [...record.image.keys()].find((name) => name.startsWith('\0\x11'))!;
    const row = Uint8Array.from(record.image.get(key)!);
    row[CHECK_BYTES] = 8;
    record.image.set(key, sealed(0x11, key.slice(6), row));
    expect(() => record.reloaded()).toThrow(new UnknownFormatError('record flags 8 are unknown'));
  });

  test('that lost or changed a row does not load', () => {
    for (const prefix of ['\0\x11', '\0\x10']) {
      const driver = new Driver();
      fill(driver);
      const key = [...driver.image.keys()].find((name) => name.startsWith(prefix))!;
      const row = driver.image.get(key)!;
      driver.image.delete(key);
      expect(() => driver.reloaded()).toThrow(/adds up to [0-9a-f]{16}, its hash is/);
      const bad = Uint8Array.from(row);
      bad[bad.length - 1]! ^= 0x20;
      driver.image.set(key, bad);
      expect(() => driver.reloaded()).toThrow('check');
    }
  });

  test('with an old row in place of a new one does not load', () => {
    const driver = new Driver();
    fill(driver);
    const key = [...driver.image.keys()].find((name) => name.startsWith('\0\x11'))!;
    const old = driver.image.get(key)!;
    driver.do({ do: 'put', in: 'plain', key: 'a', value: 'y' });
    driver.image.set(key, old);
    expect(() => driver.reloaded()).toThrow('adds up to');
  });

  test('has one hash whatever the way to a state', () => {
    const one = new Driver();
    one.do({ do: 'put', in: 'tree', key: 'a', value: '1' });
    one.do({ do: 'put', in: 'tree', key: 'b', value: '1' });
    const other = new Driver();
    other.do({ do: 'put', in: 'tree', key: 'a', value: '1' });
    expect(other.machine.stateHash()).not.toBe(one.machine.stateHash());
    other.do(
      { do: 'put', in: 'tree', key: 'b', value: '0' },
      { do: 'put', in: 'tree', key: 'c', value: '0' },
      { do: 'delete', in: 'tree', key: 'b' },
      { do: 'delete', in: 'tree', key: 'c' },
    );
    const twin = new Driver();
    twin.do({ do: 'put', in: 'tree', key: 'a', value: '1' });
    twin.do(
      { do: 'put', in: 'tree', key: 'z', value: '1' },
      { do: 'delete', in: 'tree', key: 'z' },
    );
    expect(twin.machine.stateHash()).toBe(other.machine.stateHash());
  });
});

describe('system commands', () => {
  test('set options that exist, with values of their type', () => {
    const driver = new Driver();
    const results = driver
      .apply(
        encodeSetOption('toy-limit', 12),
        encodeSetOption('toy-limit', 'many'),
        encodeSetOption('nothing', 1),
      )
      .map((outcome) => outcome.kind === 'done' && outcome.result);
    expect(results).toEqual(['set', 'wrong-type', 'unknown-option']);
    expect(driver.reloaded().machine.option(TOY.options![0]!)).toBe(12);
    expect(driver.machine.revision).toBe(1);
  });

  test('refuse values out of the range that an option declares', () => {
    const driver = new Driver();
    const resultOf = (name: string, value: number | string) =>
      driver.apply(encodeSetOption(name, value)).map((each) => each.kind === 'done' && each.result);
    expect(resultOf('election-timeout', 99)).toEqual(['out-of-range']);
    expect(resultOf('election-timeout', 60_001)).toEqual(['out-of-range']);
    expect(resultOf('election-timeout', 1000.5)).toEqual(['out-of-range']);
    expect(resultOf('election-timeout', Number.NaN)).toEqual(['out-of-range']);
    expect(resultOf('election-timeout', 60_000)).toEqual(['set']);
    expect(resultOf('lock-barging', 'perhaps')).toEqual(['out-of-range']);
    expect(resultOf('lock-barging', 'no')).toEqual(['set']);
    const shown = driver.machine.options().map(({ option, value }) => `${option.name} ${value}`);
    expect(shown).toEqual([
      'election-timeout 60000',
      'lock-barging no',
      'preferred-leaders ',
      'toy-limit 7',
      'transaction-steps 1000000',
    ]);
  });

  test('raise the feature level only when every member has said it can', () => {
    const driver = new Driver(undefined, undefined, 2);
    const raise = () => driver.apply(encodeRaiseFeatureLevel(2))[0];
    driver.hello(1, 1, { featureLevel: 2 });
    driver.hello(2, 1, { featureLevel: 2 });
    expect(raise()).toMatchObject({ result: false });
    driver.hello(3, 1, { featureLevel: 2 });
    expect(raise()).toMatchObject({ result: true });
    expect(raise()).toMatchObject({ result: false });
    expect(driver.reloaded().machine.featureLevel).toBe(2);
    expect(driver.hello(3, 2, { featureLevel: 1 })).toMatchObject({ result: 'too-old' });
  });

  test('stop a member that is older than the feature level, in the log and in an image', () => {
    const newer = new Driver(undefined, undefined, 2);
    const older = new Driver(undefined, undefined, 1);
    for (const member of [1, 2, 3]) {
      newer.hello(member, 1, { featureLevel: 2 });
      older.hello(member, 1, { featureLevel: 2 });
    }
    newer.apply(encodeRaiseFeatureLevel(2));
    const what =
      'the cluster is at feature level 2, this software knows levels up to 1: upgrade it';
    expect(() => older.apply(encodeRaiseFeatureLevel(2))).toThrow(what);
    expect(() => new Driver(undefined, newer.image, 1).load()).toThrow(what);
  });

  test('stop a member whose state hash differs from the leader’s at that index', () => {
    const driver = new Driver();
    fill(driver);
    const { machine } = driver;
    const index = machine.appliedIndex;
    const hash = machine.stateHash();
    driver.tick(5);
    expect(driver.apply(encodeCheckHash(index, hash))).toMatchObject([{ kind: 'done' }]);
    expect(driver.reloaded().apply(encodeCheckHash(index, hash))).toMatchObject([{ kind: 'done' }]);
    const wrong = '0123456789abcdef';
    expect(() => driver.apply(encodeCheckHash(index, wrong))).toThrow(
      `state hash at index ${index} is ${hash}, the majority's is ${wrong}`,
    );
  });

  test('move the revision far ahead after a restore, for every keyspace', () => {
    const driver = new Driver();
    fill(driver);
    const jump = () => driver.apply(encodeAdvanceRevision(1_000_000_000))[0];
    expect(jump()).toEqual({ kind: 'done', result: true, revision: 1_000_000_000 });
    expect(jump()).toMatchObject({ result: false });
    expect(driver.do({ do: 'put', in: 'plain', key: 'b', value: 'x' })).toEqual([1_000_000_001]);
    const { machine } = driver.reloaded();
    expect(machine.lastRevision(TREE, LeaseKind.ZooKeeper)).toBe(1_000_000_000);
    expect(machine.revision).toBe(1_000_000_001);
  });

  test('cluster time never steps back', () => {
    const driver = new Driver();
    driver.tick(10);
    driver.time -= 1;
    expect(() => driver.tick(0)).toThrow('cluster time steps back from 1010 to 1009');
  });

  test('a command cut short is void', () => {
    const driver = new Driver();
    const bytes = encodeCommand({
      procedure: 0x0f00,
      version: 1,
      principal: 0,
      args: new Uint8Array([9]),
    });
    expect(driver.apply(bytes)).toEqual([{ kind: 'void', reason: 'malformed' }]);
  });
});
