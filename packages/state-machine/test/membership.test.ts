import { describe, expect, test } from 'vitest';
import { encodeAddMember, encodeRemoveMember, encodeUpdateMember } from '../src/index.ts';
import { REMOVED_MEMBERS_MAX } from '../src/system/removed-table.ts';
import { Driver } from './driver.ts';
import { dump } from './dump.ts';

const member = (n: number, learner = false) => ({
  name: '',
  etcdId: BigInt(n),
  peerAddress: `h:${n}`,
  learner,
});
const added = (driver: Driver, n: number, learner = false) =>
  driver.apply(encodeAddMember(member(n, learner)))[0];
const changed = (id: number) => ({ result: { kind: 'changed', member: id } });
const refused = (reason: string) => ({ result: { kind: 'refused', reason } });

/** Members 1 to 3 have said hello. */
function started(): Driver {
  const driver = new Driver();
  for (const id of [1, 2, 3]) driver.hello(id, 1);
  return driver;
}

describe('member records', () => {
  test('a learner is added, moves, is promoted and removed; its id never comes again', () => {
    const driver = started();
    expect(added(driver, 5, true)).toMatchObject(changed(4));
    driver.hello(4, 1);
    driver.apply(encodeUpdateMember({ member: 4, peerAddress: 'h:6' }));
    expect(driver.machine.members()[3]).toMatchObject({ peerAddress: 'h:6', learner: true });
    expect(driver.apply(encodeUpdateMember({ member: 4, learner: false }))).toMatchObject([
      changed(4),
    ]);
    expect(driver.machine.members()[3]).toMatchObject({ learner: false });
    expect(driver.apply(encodeRemoveMember(4))).toMatchObject([changed(4)]);
    expect(driver.doAs(4, 1, { do: 'say', text: 'x' })).toMatchObject({ kind: 'void' });
    expect(added(driver, 6, true)).toMatchObject(changed(5));
    expect(
      driver
        .reloaded()
        .machine.members()
        .map(({ id }) => id),
    ).toEqual([1, 2, 3, 5]);
  });

  test('a removed member leaves a tombstone, in state, hash and image', () => {
    const driver = started();
    const before = driver.machine.stateHash();
    driver.apply(encodeRemoveMember(3));
    const [tombstone] = driver.machine.removedMembers();
    expect(tombstone).toMatchObject({ id: 3, name: 'n3', peerAddress: '127.0.0.1:3' });
    expect(tombstone?.dataDirectory).not.toBe('');
    expect(driver.machine.stateHash()).not.toBe(before);
    expect(dump(driver.reloaded())).toEqual(dump(driver));
    expect(driver.apply(encodeRemoveMember(3))).toMatchObject([refused('unknown-member')]);
  });

  test('a cluster of the first level removes without check or tombstone, as older members do', () => {
    const driver = started();
    for (const id of [1, 2, 3]) {
      expect(driver.apply(encodeRemoveMember(id, 1))).toMatchObject([changed(id)]);
    }
    expect(driver.machine.members()).toEqual([]);
    expect(driver.machine.removedMembers()).toEqual([]);
    expect(driver.machine.levelWanted(encodeRemoveMember(4, 1))).toBe(0);
    expect(new Driver().machine.levelWanted(encodeRemoveMember(4))).toBe(2);
  });

  test('tombstones are bounded: the oldest go', () => {
    const driver = started();
    for (let i = 0; i <= REMOVED_MEMBERS_MAX; i++) {
      added(driver, 10_000 + i, true);
      driver.apply(encodeRemoveMember(4 + i));
    }
    const removed = driver.machine.removedMembers();
    expect([removed.length, removed[0]?.id]).toEqual([REMOVED_MEMBERS_MAX, 5]);
    expect(dump(driver.reloaded())).toEqual(dump(driver));
  });
});

describe('refused, and nothing changes', () => {
  test.each([
    [
      'an address that a member has',
      'address-taken',
      encodeAddMember({ ...member(9), peerAddress: '127.0.0.1:2' }),
    ],
    ['an id that a member has', 'id-taken', encodeAddMember({ ...member(9), etcdId: 2n << 40n })],
    ['promotion of nobody', 'unknown-member', encodeUpdateMember({ member: 9, learner: false })],
    ['promotion of a voter', 'no-learner', encodeUpdateMember({ member: 2, learner: false })],
    ['removal of nobody', 'unknown-member', encodeRemoveMember(9)],
    [
      'an address for nobody',
      'unknown-member',
      encodeUpdateMember({ member: 9, peerAddress: 'h:1' }),
    ],
    [
      "another member's address",
      'address-taken',
      encodeUpdateMember({ member: 1, peerAddress: '127.0.0.1:2' }),
    ],
  ])('%s', (_name, reason, command) => {
    const driver = started();
    const records = driver.machine.members();
    expect(driver.apply(command)).toMatchObject([refused(reason)]);
    expect(driver.machine.members()).toEqual(records);
  });

  test('a second learner', () => {
    const driver = started();
    added(driver, 4, true);
    expect(added(driver, 5, true)).toMatchObject(refused('too-many-learners'));
  });

  test('a voter more while too few have started', () => {
    const driver = started();
    expect(added(driver, 4)).toMatchObject(changed(4));
    expect(added(driver, 5)).toMatchObject(changed(5));
    expect(added(driver, 6)).toMatchObject(refused('too-few-started'));
    driver.hello(4, 1);
    expect(added(driver, 6)).toMatchObject(changed(6));
  });

  test('the removal of one of few that have started, and of the last voter', () => {
    const driver = started();
    added(driver, 4);
    added(driver, 5);
    expect(driver.apply(encodeRemoveMember(1))).toMatchObject([refused('too-few-started')]);
    for (const id of [5, 4, 3, 2]) {
      expect(driver.apply(encodeRemoveMember(id))).toMatchObject([changed(id)]);
    }
    expect(driver.apply(encodeRemoveMember(1))).toMatchObject([refused('too-few-started')]);
  });

  test('the promotion of a learner that has not started, where it would cost the majority', () => {
    const driver = started();
    driver.apply(encodeRemoveMember(3));
    driver.apply(encodeRemoveMember(2));
    added(driver, 4, true);
    expect(driver.apply(encodeUpdateMember({ member: 4, learner: false }))).toMatchObject([
      refused('too-few-started'),
    ]);
    driver.hello(4, 1);
    expect(driver.apply(encodeUpdateMember({ member: 4, learner: false }))).toMatchObject([
      changed(4),
    ]);
  });

  test('a cluster of one takes a second voter before it has started', () => {
    const driver = started();
    driver.apply(encodeRemoveMember(3));
    driver.apply(encodeRemoveMember(2));
    expect(added(driver, 4)).toMatchObject(changed(4));
    expect(added(driver, 5)).toMatchObject(refused('too-few-started'));
  });
});
