import { encodeCommand, LeaseKind } from '@lockstep/model';
import { describe, expect, test } from 'vitest';
import {
  encodeSetOption,
  lockInfo,
  lockQueue,
  mayTake,
  type Procedure,
  type WaiterKind,
} from '../src/index.ts';
import { Driver } from './driver.ts';
import { PLAIN, TOY, TREE } from './toy.ts';

const acquire = (owner: string, px = 1000, wait?: number) => ({
  do: 'acquire' as const,
  name: 'l',
  owner,
  px,
  ...(wait === undefined ? {} : { wait }),
});
const release = (owner: string) => ({ do: 'release' as const, name: 'l', owner });
const owner = (driver: Driver) => lockInfo(driver.machine, PLAIN, 'l')?.owner;
const queue = (driver: Driver) =>
  lockQueue(driver.machine, PLAIN, 'l').map(({ owner: name }) => name);

describe('locks', () => {
  test('are granted, extended by their owner under the same token, and refused to others', () => {
    const driver = new Driver();
    expect(driver.do(acquire('ann'))).toEqual([2]);
    driver.time += 500;
    expect(driver.do(acquire('ann'))).toEqual([2]);
    expect(driver.do(acquire('ben'))).toEqual(['held']);
    expect(lockInfo(driver.machine, PLAIN, 'l')).toMatchObject({
      owner: 'ann',
      token: 2,
      acquiredAt: 1000,
      deadline: 2500,
      holds: 1,
      queueLength: 0,
    });
  });

  test('are released by their owner only', () => {
    const driver = new Driver();
    driver.do(acquire('ann'));
    expect(driver.do(release('ben'))).toEqual(['not-held']);
    expect(driver.do({ do: 'extend', name: 'l', owner: 'ben', px: 1 })).toEqual([false]);
    expect(driver.do({ do: 'extend', name: 'l', owner: 'ann', px: 9000 })).toEqual([true]);
    expect(driver.do(release('ann'))).toEqual(['released']);
    expect(driver.do(release('ann'))).toEqual(['not-held']);
  });

  test('of plain records are the same locks', () => {
    const driver = new Driver();
    driver.do({ do: 'put', in: 'plain', key: 'l', value: 'ann' });
    expect(driver.do(acquire('ben', 1000, 0))).toEqual(['queued']);
    driver.do({ do: 'delete', in: 'plain', key: 'l' });
    expect(owner(driver)).toBe('ben');
  });

  test('are not taken from records of another kind', () => {
    const driver = new Driver();
    driver.do({ do: 'put', in: 'plain', key: 'l', value: '\0list' });
    expect(driver.do(acquire('ann', 1000, 0))).toEqual(['wrong-type']);
  });

  test('go to waiters in the order they came, each once, over a reload', () => {
    let driver = new Driver();
    driver.do(acquire('ann'));
    expect(driver.do(acquire('ben', 1000, 0), acquire('cat', 1000, 0))).toEqual([
      'queued',
      'queued',
    ]);
    driver.do(acquire('dan', 1000, 0));
    driver = driver.reloaded();
    expect(queue(driver)).toEqual(['ben', 'cat', 'dan']);
    driver.do(release('ann'));
    expect(driver.story()).toEqual([
      'plain l 3.0 gone',
      'plain l 3.1 ben',
      'waiter 0 served {"token":3}',
    ]);
    driver.do(release('ben'));
    expect(owner(driver)).toBe('cat');
    expect(queue(driver)).toEqual(['dan']);
  });

  test('are handed over when they expire, with a lifetime counted from then', () => {
    const driver = new Driver();
    driver.do(acquire('ann', 100));
    driver.do(acquire('ben', 300, 0));
    driver.tick(150);
    expect(lockInfo(driver.machine, PLAIN, 'l')).toMatchObject({
      owner: 'ben',
      token: 3,
      deadline: driver.time + 300,
    });
  });

  test('pass over waiters whose time ran out or who left', () => {
    const driver = new Driver();
    driver.do(acquire('ann', 0));
    driver.do(acquire('ben', 0, 100), acquire('cat', 0, 0), acquire('dan', 0, 0));
    driver.story();
    driver.tick(100);
    expect(driver.story()).toEqual(['waiter 0 timed-out undefined']);
    expect(driver.do({ do: 'cancel', name: 'l', owner: 'cat' })).toEqual([true]);
    expect(driver.story()).toEqual(['waiter 0 cancelled undefined']);
    driver.do(release('ann'));
    expect(owner(driver)).toBe('dan');
  });

  test('pass over waiters whose connection lease has ended', () => {
    const driver = new Driver();
    driver.do({ do: 'grant', kind: LeaseKind.RedisConnection, id: 1, ttl: 0 });
    driver.do(acquire('ann'));
    driver.do({ ...acquire('ben', 0, 0), lease: 1 }, acquire('cat', 0, 0));
    driver.do({ do: 'revoke', kind: LeaseKind.RedisConnection, id: 1 });
    driver.do(release('ann'));
    expect(owner(driver)).toBe('cat');
    expect(queue(driver)).toEqual([]);
  });

  test('end with the connection lease they hang on', () => {
    const driver = new Driver();
    driver.do({ do: 'grant', kind: LeaseKind.RedisConnection, id: 1, ttl: 0 });
    driver.do({ ...acquire('ann', 0), lease: 1 }, acquire('ben', 0, 0));
    driver.do({ do: 'revoke', kind: LeaseKind.RedisConnection, id: 1 });
    expect(owner(driver)).toBe('ben');
  });

  test('that are free with a queue are not taken past it, unless barging is on', () => {
    const driver = new Driver();
    driver.do(acquire('ann'), acquire('ben', 1000, 0));
    expect(mayTake(driver.machine, PLAIN, 'l')).toBe(false);
    expect(driver.do(release('ann'), acquire('ann'))).toEqual(['released', 'held']);
    expect(owner(driver)).toBe('ben');
    driver.do(acquire('cat', 1000, 0));
    driver.apply(encodeSetOption('lock-barging', 'yes'));
    expect(mayTake(driver.machine, PLAIN, 'l')).toBe(true);
    expect(mayTake(driver.machine, PLAIN, 'other')).toBe(true);
  });

  test('lose their note with the owner', () => {
    const driver = new Driver();
    driver.do(acquire('ann'));
    driver.do({ do: 'put', in: 'plain', key: 'l', value: 'ben' });
    expect(driver.machine.lockNote(PLAIN, 'l')).toBeUndefined();
    expect(lockInfo(driver.machine, PLAIN, 'l')).toMatchObject({ owner: 'ben', acquiredAt: 0 });
  });
});

describe('waiters', () => {
  test('that pop are served oldest first, as many as there is something for', () => {
    const driver = new Driver();
    driver.do({ do: 'pop', key: 'q', wait: 0 });
    driver.do({ do: 'pop', key: 'q', wait: 0 });
    driver.story();
    driver.do({ do: 'put', in: 'tree', key: 'q', value: 'job' });
    expect(driver.story()).toEqual(['tree q 2.0 job', 'tree q 2.1 gone', 'waiter 0 served "job"']);
  });
});

test('waiters of several keys changed at once are served oldest first', () => {
  const driver = new Driver();
  driver.do({ do: 'pop', key: 'a', wait: 0 });
  driver.do({ do: 'pop', key: 'b', wait: 0 });
  driver.do({ do: 'pop', key: 'a', wait: 0 });
  driver.story();
  driver.do(
    { do: 'put', in: 'tree', key: 'b', value: 'second' },
    { do: 'put', in: 'tree', key: 'a', value: 'first' },
  );
  const served = driver.story().filter((line) => line.startsWith('waiter'));
  expect(served).toEqual(['waiter 0 served "first"', 'waiter 0 served "second"']);
  expect(driver.machine.waiters(TREE, 'a')).toHaveLength(1);
});

test('a hand-over asks the head of the queue, however long that is', () => {
  const driver = new Driver();
  driver.do(acquire('ann', 0));
  for (let i = 0; i < 20; i++) {
    driver.do(...Array.from({ length: 5 }, (_, at) => acquire(`w${i * 5 + at}`, 0, 0)));
  }
  expect(driver.machine.waiterCount(PLAIN, 'l')).toBe(100);
  let holder = 'ann';
  for (let i = 0; i < 100; i++) {
    driver.do(release(holder));
    holder = owner(driver)!;
    expect(holder).toBe(`w${i}`);
  }
  expect(driver.machine.waiterCount(PLAIN, 'l')).toBe(0);
});

test('a strict kind is not asked past the first waiter that stays', () => {
  const asked: number[] = [];
  const kind: WaiterKind = {
    name: 'strict',
    strict: true,
    serve: (_tx, waiter) => void asked.push(waiter.id),
  };
  const queue: Procedure<undefined, number> = {
    id: 0x0e00,
    version: 1,
    name: 'strict.queue',
    readOnly: false,
    decode: () => undefined,
    run: (tx) => tx.enqueueWaiter('strict', TREE, ['q'], 0, new Uint8Array(0)).id,
  };
  const extension = { name: 'strict', keyspaces: [], procedures: [queue], waiters: [kind] };
  const driver = new Driver([TOY, extension]);
  const bytes = encodeCommand({
    procedure: 0x0e00,
    version: 1,
    principal: 0,
    args: new Uint8Array(0),
  });
  driver.apply(bytes, bytes, bytes);
  driver.do({ do: 'put', in: 'tree', key: 'q', value: 'x' });
  expect(asked).toEqual([1]);
});

describe('fences', () => {
  test('only rise, take a revision when they do, and survive a clear', () => {
    const driver = new Driver();
    driver.do({ do: 'fence', resource: 'r', token: 7 });
    expect(driver.machine.revision).toBe(2);
    driver.do({ do: 'fence', resource: 'r', token: 5 });
    expect(driver.machine.fence('r')).toBe(7);
    expect(driver.machine.revision).toBe(2);
    driver.do({ do: 'clear', in: 'plain' });
    expect(driver.reloaded().machine.fence('r')).toBe(7);
    expect(driver.do({ do: 'unfence', resource: 'r' })).toEqual([true]);
    expect(driver.machine.fence('r')).toBe(0);
  });
});
