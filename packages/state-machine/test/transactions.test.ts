import { utf8Bytes } from '@lockstep/model';
import { describe, expect, test } from 'vitest';
import { Driver } from './driver.ts';
import { dump } from './dump.ts';
import { command, PLAIN, readCommand, STORE, TREE } from './toy.ts';

describe('transactions', () => {
  test('a fresh store is at revision 1 and the first write makes 2', () => {
    const driver = new Driver();
    expect(driver.machine.revision).toBe(1);
    expect(driver.do({ do: 'put', in: 'store', key: 'a', value: 'x' })).toEqual([2]);
    expect(driver.machine.revision).toBe(2);
    expect(driver.machine.get(STORE, 'a')).toMatchObject({
      createRevision: 2,
      modRevision: 2,
      version: 1,
      token: 2,
    });
    expect(driver.story()).toEqual(['store a 2.0 x']);
  });

  test('all writes of a transaction share one revision and are numbered in order', () => {
    const driver = new Driver();
    driver.do(
      { do: 'put', in: 'tree', key: 'b', value: '1' },
      { do: 'put', in: 'plain', key: 'a', value: '2' },
      { do: 'put', in: 'tree', key: 'b', value: '3' },
      { do: 'delete-range', in: 'tree', from: 'a', to: 'z' },
    );
    expect(driver.story()).toEqual([
      'tree b 2.0 1',
      'plain a 2.1 2',
      'tree b 2.2 3',
      'tree b 2.3 gone',
    ]);
    expect(driver.machine.revision).toBe(2);
  });

  test('what changes nothing takes no revision', () => {
    const driver = new Driver();
    driver.do({ do: 'delete', in: 'store', key: 'a' }, { do: 'clear', in: 'plain' });
    driver.do({ do: 'grant', kind: 2, id: 1, ttl: 1000 }, { do: 'say', text: 'hello' });
    driver.do({ do: 'revoke', kind: 2, id: 1 });
    expect(driver.machine.revision).toBe(1);
    expect(driver.story()).toEqual(['toy says hello', 'lease 2/1 revoked']);
  });

  test('a new life of a key starts at version 1 with a new create revision', () => {
    const driver = new Driver();
    driver.do({ do: 'put', in: 'store', key: 'a', value: 'x' });
    driver.do({ do: 'put', in: 'store', key: 'a', value: 'x' });
    expect(driver.machine.get(STORE, 'a')).toMatchObject({ createRevision: 2, version: 2 });
    driver.do({ do: 'delete', in: 'store', key: 'a' });
    driver.do({ do: 'put', in: 'store', key: 'a', value: 'x' });
    expect(driver.machine.get(STORE, 'a')).toMatchObject({ createRevision: 5, version: 1 });
  });

  test('only lease and deadline move when a put does not touch', () => {
    const driver = new Driver();
    driver.do({ do: 'put', in: 'store', key: 'a', value: 'x' });
    driver.do({ do: 'touch', in: 'store', key: 'a', px: 50 });
    const record = driver.machine.get(STORE, 'a');
    expect(record).toMatchObject({ modRevision: 2, version: 1, deadline: driver.time + 50 });
    expect(driver.machine.revision).toBe(3);
    expect(driver.reloaded().machine.get(STORE, 'a')).toEqual(record);
  });

  describe('tokens', () => {
    test('stay with the owner and move with a different one', () => {
      const driver = new Driver();
      expect(driver.do({ do: 'put', in: 'plain', key: 'l', value: 'ann' })).toEqual([2]);
      expect(driver.do({ do: 'put', in: 'plain', key: 'l', value: 'ann' })).toEqual([2]);
      expect(driver.do({ do: 'put', in: 'plain', key: 'l', value: 'ben' })).toEqual([4]);
      expect(driver.machine.get(PLAIN, 'l')).toMatchObject({ createRevision: 2, token: 4 });
    });

    test('are the create revision where a keyspace has no owner rule', () => {
      const driver = new Driver();
      driver.do({ do: 'put', in: 'tree', key: 'n', value: '1' });
      driver.do({ do: 'put', in: 'tree', key: 'n', value: '2' });
      expect(driver.machine.get(TREE, 'n')).toMatchObject({ createRevision: 2, token: 2 });
    });

    test('of one key in one transaction differ: another revision is taken', () => {
      const driver = new Driver();
      const tokens = driver.do(
        { do: 'put', in: 'plain', key: 'l', value: 'ann' },
        { do: 'put', in: 'plain', key: 'l', value: 'ben' },
        { do: 'delete', in: 'plain', key: 'l' },
        { do: 'put', in: 'plain', key: 'other', value: 'x' },
        { do: 'put', in: 'plain', key: 'l', value: 'ben' },
      );
      expect(tokens).toEqual([2, 3, true, 3, 4]);
      expect(driver.machine.revision).toBe(4);
      expect(driver.story().at(-1)).toBe('plain l 4.0 ben');
    });

    test('do not repeat over a clear in the same transaction', () => {
      const driver = new Driver();
      const results = driver.do(
        { do: 'put', in: 'plain', key: 'l', value: 'ann' },
        { do: 'clear', in: 'plain' },
        { do: 'put', in: 'plain', key: 'l', value: 'ann' },
      );
      expect(results).toEqual([2, undefined, 3]);
    });
  });

  test('a transaction over budget leaves no trace', () => {
    const driver = new Driver();
    driver.do({ do: 'grant', kind: 2, id: 1, ttl: 1000 });
    driver.do({ do: 'put', in: 'store', key: 'a', value: 'x', lease: 1 });
    driver.do({ do: 'put', in: 'plain', key: 'l', value: 'ann' });
    driver.do({ do: 'acquire', name: 'l', owner: 'ben', px: 100, wait: 0 });
    const before = dump(driver) as { hash: string; index: number };
    driver.story();
    const [outcome] = driver.apply(
      command(
        { do: 'revoke', kind: 2, id: 1 },
        { do: 'put', in: 'store', key: 'b', value: 'y', px: 10 },
        { do: 'clear', in: 'plain' },
        { do: 'put', in: 'plain', key: 'l', value: 'cat' },
        { do: 'fence', resource: 'r', token: 9 },
        { do: 'cancel', name: 'l', owner: 'ben' },
        { do: 'spend', steps: 1e9 },
      ),
    );
    expect(outcome).toEqual({ kind: 'void', reason: 'budget' });
    const { hash: _, index: __, ...after } = dump(driver) as typeof before;
    const { hash: ___, index: ____, ...rest } = before;
    expect(after).toEqual(rest);
    expect(driver.story()).toEqual([]);
    expect(driver.reloaded().machine.stateHash()).toBe(driver.machine.stateHash());
  });

  test('rows touched by an undone transaction are written by the next one that changes them', () => {
    const driver = new Driver();
    driver.do({ do: 'grant', kind: 2, id: 1, ttl: 1000 });
    driver.apply(command({ do: 'attach', kind: 2, id: 1 }, { do: 'spend', steps: 1e9 }));
    expect(driver.machine.lease(1)?.epoch).toBe(1);
    driver.time += 5;
    driver.do({ do: 'attach', kind: 2, id: 1 });
    expect(driver.reloaded().machine.lease(1)).toMatchObject({ epoch: 2, deadline: 2005 });
  });

  test('an undone transaction leaves queues in their order', () => {
    const driver = new Driver();
    const acquire = (owner: string) =>
      driver.do({ do: 'acquire', name: 'l', owner, px: 0, wait: 0 });
    for (const owner of ['ann', 'ben', 'cat']) acquire(owner);
    const cancel = { do: 'cancel' as const, name: 'l', owner: 'ben' };
    driver.apply(command(cancel, { do: 'spend', steps: 1e9 }));
    driver.do({ do: 'release', name: 'l', owner: 'ann' });
    expect(Buffer.from(driver.machine.get(PLAIN, 'l')!.value).toString()).toBe('ben');
  });

  test('of several changes of a record only the last is written', () => {
    const driver = new Driver();
    driver.tick(1);
    driver.written.length = 0;
    driver.do(
      { do: 'put', in: 'plain', key: 'a', value: '1' },
      { do: 'put', in: 'plain', key: 'a', value: '2' },
      { do: 'put', in: 'plain', key: 'a', value: '3' },
    );
    expect(driver.written.filter((key) => key.startsWith('\0\x11'))).toHaveLength(1);
  });

  test('a clear empties a keyspace at once and its rows leave the image bit by bit', () => {
    const driver = new Driver();
    for (let i = 0; i < 30; i++) {
      const puts = Array.from({ length: 100 }, (_, at) => ({
        do: 'put' as const,
        in: 'plain' as const,
        key: `k${i}.${at}`,
        value: 'x',
        px: 100,
      }));
      driver.do(...puts);
    }
    const full = driver.image.size;
    driver.story();
    driver.do({ do: 'clear', in: 'plain' }, { do: 'put', in: 'plain', key: 'k1.1', value: 'y' });
    expect(driver.story()).toEqual(['plain cleared 32', 'plain k1.1 32.1 y']);
    expect(driver.machine.size(PLAIN)).toBe(1);
    const halfway = driver.image.size;
    expect(halfway).toBeLessThan(full);
    const twin = driver.reloaded();
    expect(dump(twin)).toMatchObject({ hash: driver.machine.stateHash(), liveBytes: 64 + 4 + 1 });
    for (const machine of [driver, twin]) {
      machine.tick(1000);
      machine.tick(1);
      machine.tick(1);
      expect(machine.story()).toEqual([]);
      expect(machine.image.size).toBeLessThan(20);
      expect(machine.machine.get(PLAIN, 'k1.1')?.value).toEqual(utf8Bytes('y'));
      expect(machine.machine.nextDeadline).toBe(0);
    }
  });

  describe('read-only procedures', () => {
    test('run only where their client waits', () => {
      const driver = new Driver();
      driver.do({ do: 'put', in: 'plain', key: 'a', value: 'x' });
      const read = readCommand({ do: 'delete', in: 'plain', key: 'a' });
      expect(driver.apply(read)).toEqual([{ kind: 'done', result: 'x', revision: 0 }]);
      driver.wanted = false;
      expect(driver.apply(read)).toEqual([{ kind: 'done', result: undefined, revision: 0 }]);
    });

    test('stop the member when they write', () => {
      const driver = new Driver();
      const bad = readCommand({ do: 'put', in: 'plain', key: 'a', value: 'x' });
      expect(() => driver.apply(bad)).toThrow('a read-only procedure writes');
    });
  });

  test('an unknown procedure stops the member', () => {
    const driver = new Driver();
    const newer = command();
    newer[2] = 9;
    expect(() => driver.apply(newer)).toThrow(
      'version 9 of toy.perform (0x0f00), this software knows versions up to 1: upgrade it',
    );
  });

  test('live bytes count records, every kept version, marks and waiters', () => {
    const driver = new Driver();
    const { machine } = driver;
    driver.do({ do: 'put', in: 'plain', key: 'ab', value: 'xyz' });
    expect(machine.liveBytes).toBe(64 + 2 + 3);
    driver.do({ do: 'put', in: 'plain', key: 'ab', value: 'x' });
    expect(machine.liveBytes).toBe(64 + 2 + 1);
    driver.do({ do: 'delete', in: 'plain', key: 'ab' });
    expect(machine.liveBytes).toBe(0);
    driver.do({ do: 'put', in: 'store', key: 'ab', value: 'xyz' });
    driver.do({ do: 'delete', in: 'store', key: 'ab' });
    expect(machine.liveBytes).toBe(64 + 2 + 3 + 64 + 2);
    driver.do({ do: 'compact', at: machine.revision });
    expect(machine.liveBytes).toBe(64 + 2);
    driver.do({ do: 'fence', resource: 'r', token: 3 });
    expect(machine.liveBytes).toBe(64 + 2 + 64 + 1);
  });
});
