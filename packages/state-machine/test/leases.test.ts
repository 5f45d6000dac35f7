import { EntryKind, LeaseKind } from '@lockstep/model';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DeadlineEntry, DeadlineIndex } from '../src/lease/deadline-index.ts';
import { Driver } from './driver.ts';
import { STORE, TREE } from './toy.ts';

const { Etcd, ZooKeeper } = LeaseKind;

function grant(driver: Driver, kind: LeaseKind, id: number, ttl: number): number {
  driver.do({ do: 'grant', kind, id, ttl });
  return driver.machine.leaseById(kind, BigInt(id))!.handle;
}

describe('leases', () => {
  test('end with all that hangs on them in one transaction, in keyspace and key order', () => {
    const driver = new Driver();
    const lease = grant(driver, Etcd, 1, 100);
    driver.do({ do: 'put', in: 'tree', key: 'z', value: '1', lease });
    driver.do({ do: 'put', in: 'store', key: 'b', value: '1', lease });
    driver.do({ do: 'put', in: 'store', key: 'a', value: '1', lease });
    driver.do({ do: 'put', in: 'store', key: 'c', value: '1', lease });
    driver.do({ do: 'put', in: 'store', key: 'c', value: '2', lease: 0 });
    expect(driver.machine.lease(lease)?.keyCount).toBe(3);
    driver.story();
    driver.tick(99);
    expect(driver.story()).toEqual([]);
    driver.tick(1);
    expect(driver.transactions).toHaveLength(1);
    expect(driver.story()).toEqual([
      'store a 7.0 gone',
      'store b 7.1 gone',
      'tree z 7.2 gone',
      'lease 2/1 expired',
    ]);
    expect(driver.machine.get(STORE, 'c')).toBeDefined();
  });

  test('of a kind with a hook end by that hook', () => {
    const driver = new Driver();
    grant(driver, ZooKeeper, 1, 100);
    expect(driver.machine.lastRevision(TREE, ZooKeeper)).toBe(0);
    driver.tick(100);
    expect(driver.machine.revision).toBe(2);
    expect(driver.machine.lastRevision(TREE, ZooKeeper)).toBe(2);
    expect(driver.machine.lastRevision(TREE)).toBe(0);
  });

  test('are lifted to the reconnect grace by an election, but not by a transfer', () => {
    const driver = new Driver();
    const short = grant(driver, Etcd, 1, 1500);
    const long = grant(driver, ZooKeeper, 2, 60_000);
    const redis = grant(driver, LeaseKind.RedisConnection, 3, 60_000);
    driver.hello(2, 1);
    const member = driver.machine.leaseById(LeaseKind.Member, 2n)!.handle;
    driver.do({ do: 'put', in: 'plain', key: 'a', value: 'x', px: 1490 });
    const start = driver.time;
    driver.time += 1400;
    driver.entry({ kind: EntryKind.Transferred });
    const deadlines = () =>
      [short, long, redis, member].map((lease) => driver.machine.lease(lease)!.deadline - start);
    expect(deadlines()).toEqual([1500, 60_000, 60_000, 3000]);
    driver.entry({ kind: EntryKind.Elected });
    expect(deadlines()).toEqual([2900, 60_000, 60_000, 3000]);
    driver.tick(100);
    expect(driver.story().at(-1)).toBe('plain a 3.0 gone');
    driver.time = start + 59_000;
    driver.entry({ kind: EntryKind.Elected });
    expect(driver.machine.lease(long)!.deadline - start).toBe(61_000);
  });

  test('expire before the commands of the entry and together with records in order', () => {
    const driver = new Driver();
    grant(driver, Etcd, 1, 50);
    driver.do(
      { do: 'put', in: 'tree', key: 'b', value: 'x', px: 50 },
      { do: 'put', in: 'tree', key: 'a', value: 'x', px: 50 },
      { do: 'put', in: 'plain', key: 'c', value: 'x', px: 50 },
      { do: 'put', in: 'tree', key: 'd', value: 'x', px: 40 },
    );
    driver.story();
    driver.time += 50;
    driver.do({ do: 'say', text: 'command' });
    expect(driver.story()).toEqual([
      'tree d 3.0 gone',
      'lease 2/1 expired',
      'plain c 4.0 gone',
      'tree a 5.0 gone',
      'tree b 6.0 gone',
      'toy says command',
    ]);
  });

  test('in great number expire in bounded steps; what is left counts as alive', () => {
    const driver = new Driver();
    for (let i = 0; i < 25; i++) {
      driver.do(
        ...Array.from({ length: 100 }, (_, at) => ({
          do: 'put' as const,
          in: 'tree' as const,
          key: `${String(i).padStart(2, '0')}.${String(at).padStart(2, '0')}`,
          value: 'x',
          px: 100,
        })),
      );
    }
    driver.time += 100;
    driver.do({ do: 'put', in: 'tree', key: '24.99', value: 'renewed', px: 100 });
    expect(driver.machine.size(TREE)).toBe(1500);
    expect(driver.machine.expiryPending).toBe(true);
    const twin = driver.reloaded();
    expect(twin.machine.expiryPending).toBe(true);
    for (const one of [driver, twin]) {
      one.tick(0);
      expect(one.machine.size(TREE)).toBe(500);
      one.tick(0);
      expect(one.machine.expiryPending).toBe(false);
      expect(one.machine.size(TREE)).toBe(1);
      expect(one.machine.nextDeadline).toBe(one.time + 100);
    }
    expect(twin.machine.stateHash()).toBe(driver.machine.stateHash());
  });
});

describe('the deadline index', () => {
  test('gives entries in order whatever was added, moved and removed', () => {
    const operation = fc.record({
      entry: fc.nat(19),
      deadline: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 400 })),
    });
    fc.assert(
      fc.property(fc.array(operation), fc.integer({ min: 0, max: 400 }), (operations, now) => {
        const index = new DeadlineIndex<string>();
        const entries = Array.from(
          { length: 20 },
          (_, at) => new DeadlineEntry(`e${at}`, at % 3, at),
        );
        for (const { entry, deadline } of operations) index.set(entries[entry]!, deadline);
        const alive = entries
          .filter(({ deadline }) => deadline !== 0)
          .sort(
            (x, y) => x.deadline - y.deadline || x.table - y.table || Number(x.id) - Number(y.id),
          );
        expect(index.next).toBe(alive[0]?.deadline ?? 0);
        const got: string[] = [];
        for (let due = index.due(now); due !== undefined; due = index.due(now)) {
          got.push(due.subject);
          index.set(due, 0);
        }
        expect(got).toEqual(
          alive.filter(({ deadline }) => deadline <= now).map(({ subject }) => subject),
        );
      }),
    );
  });
});
