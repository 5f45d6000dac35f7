import { LeaseKind } from '@lockstep/model';
import { describe, expect, test } from 'vitest';
import { encodeReleaseWaiter } from '../src/index.ts';
import { Driver } from './driver.ts';
import { command, TREE } from './toy.ts';

const put = (value: string) => command({ do: 'put', in: 'plain', key: 'a', value });
const reasons = (outcomes: readonly { kind: string; reason?: string }[]) =>
  outcomes.map((outcome) => outcome.reason ?? outcome.kind);

describe('the duplicate table', () => {
  test('never moves back: an old run that comes again is void as a whole', () => {
    const driver = new Driver();
    driver.hello(2, 1);
    const run = { origin: 2, incarnation: 1, first: 2, commands: [put('x'), put('y'), put('z')] };
    driver.run(run);
    expect(reasons(driver.run({ ...run, commands: [put('x')] }))).toEqual(['duplicate']);
    expect(driver.machine.lastSequence(2, 1)).toBe(4);
  });

  test('knows a run only after its incarnation said hello', () => {
    const driver = new Driver();
    const run = { origin: 2, incarnation: 1, first: 1, commands: [put('x')] };
    expect(reasons(driver.run(run))).toEqual(['gap']);
    driver.hello(2, 1);
    driver.hello(2, 2);
    expect(reasons(driver.run({ ...run, first: 2 }))).toEqual(['old-incarnation']);
    expect(reasons(driver.run({ ...run, incarnation: 2, first: 2 }))).toEqual(['done']);
  });

  test('does not number what the leader makes', () => {
    const driver = new Driver();
    const run = { origin: 1, incarnation: 1, first: 0, commands: [put('x'), put('y')] };
    expect(reasons(driver.run(run))).toEqual(['done', 'done']);
    expect(driver.machine.lastSequence(1, 1)).toBe(0);
  });
});

describe('hello', () => {
  test('publishes the member and opens its lease of three election timeouts', () => {
    const driver = new Driver();
    expect(driver.hello(2, 1)).toMatchObject({ kind: 'done', result: 'accepted' });
    expect(driver.machine.members()[1]).toEqual({
      id: 2,
      name: 'n2',
      etcdId: 2n << 40n,
      peerAddress: '127.0.0.1:2',
      learner: false,
      version: '0.1.0',
      featureLevel: 1,
      incarnation: 1,
      dataDirectory: 'directory-2',
      addresses: { redis: '127.0.0.1:2' },
    });
    const lease = driver.machine.leaseById(LeaseKind.Member, 2n);
    expect(lease?.deadline).toBe(driver.time + 3000);
  });

  test('changes nothing unless it is higher, from the bound directory and new enough', () => {
    const driver = new Driver();
    driver.hello(2, 5);
    const hash = () => {
      const [member] = driver.machine.members().slice(1);
      return JSON.stringify({ ...member, etcdId: 0 });
    };
    const before = hash();
    expect(driver.hello(2, 5)).toMatchObject({ reason: 'duplicate' });
    expect(driver.hello(2, 4)).toMatchObject({ reason: 'old-incarnation' });
    expect(driver.hello(2, 6, { dataDirectory: 'copied' })).toMatchObject({
      result: 'other-directory',
    });
    expect(driver.hello(2, 6, { featureLevel: 0 })).toMatchObject({ result: 'too-old' });
    expect(driver.hello(9, 1)).toMatchObject({ result: 'unknown-member' });
    expect(hash()).toBe(before);
    expect(driver.machine.lastSequence(2, 5)).toBe(1);
  });

  test('voids the commands that follow a refused hello in its run', () => {
    const driver = new Driver();
    driver.hello(2, 5);
    expect(driver.hello(2, 6, { dataDirectory: 'copied' })).toMatchObject({ kind: 'done' });
    const run = { origin: 2, incarnation: 6, first: 2, commands: [put('x')] };
    expect(reasons(driver.run(run))).toEqual(['gap']);
  });

  test('ends the former incarnation: its waiters and the leases of its connections', () => {
    const driver = new Driver();
    driver.hello(2, 1);
    driver.doAs(2, 1, { do: 'grant', kind: LeaseKind.RedisConnection, id: 7, ttl: 0 });
    driver.doAs(2, 1, { do: 'grant', kind: LeaseKind.ZooKeeper, id: 8, ttl: 9000 });
    const { handle } = driver.machine.leaseById(LeaseKind.RedisConnection, 7n)!;
    driver.doAs(2, 1, { do: 'acquire', name: 'l', owner: 'ann', px: 0, lease: handle });
    driver.do({ do: 'acquire', name: 'l', owner: 'cat', px: 500, wait: 0 });
    driver.doAs(2, 1, { do: 'pop', key: 'q', wait: 0 });
    driver.story();
    driver.hello(2, 2);
    expect(driver.story()).toEqual([
      'waiter 5 cancelled undefined',
      'plain l 3.0 gone',
      'lease 4/7 revoked',
      'lease 1/2 revoked',
      'plain l 3.1 cat',
      'waiter 0 served {"token":3}',
    ]);
    expect(driver.machine.leaseById(LeaseKind.ZooKeeper, 8n)).toBeDefined();
    expect(driver.machine.waiters(TREE, 'q')).toEqual([]);
  });

  test('is needed again after the member lease has expired', () => {
    const driver = new Driver();
    driver.hello(2, 1);
    driver.doAs(2, 1, { do: 'pop', key: 'q', wait: 0 });
    driver.tick(2999);
    expect(driver.doAs(2, 1, { do: 'say', text: 'alive' })).toMatchObject({ kind: 'done' });
    driver.story();
    driver.tick(1);
    expect(driver.story()).toEqual(['lease 1/2 expired', 'waiter 2 cancelled undefined']);
    expect(driver.doAs(2, 1, { do: 'say', text: 'dead' })).toMatchObject({
      reason: 'old-incarnation',
    });
    expect(driver.hello(2, 2)).toMatchObject({ result: 'accepted' });
  });
});

test('an origin takes back the waiter of one of its requests', () => {
  const driver = new Driver();
  driver.hello(2, 1);
  driver.hello(3, 1);
  driver.doAs(2, 1, { do: 'pop', key: 'q', wait: 0 });
  driver.doAs(3, 1, { do: 'pop', key: 'q', wait: 0 });
  const release = (first: number) =>
    driver.run({ origin: 2, incarnation: 1, first, commands: [encodeReleaseWaiter(2)] })[0];
  expect(release(3)).toMatchObject({ result: true });
  expect(release(4)).toMatchObject({ result: false });
  expect(driver.machine.waiters(TREE, 'q').map(({ origin }) => origin)).toEqual([3]);
});
