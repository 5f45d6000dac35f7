import { describe, expect, it } from 'vitest';
import { encodeRefound, REFOUND_REVISIONS } from '../src/index.ts';
import { Driver } from './driver.ts';

describe('a survivor that becomes a cluster of its own', () => {
  it('is its only member, with another cluster id, far ahead of every revision', () => {
    const driver = new Driver();
    for (const member of [1, 2, 3]) driver.hello(member, 1);
    const { revision } = driver.machine;
    const command = encodeRefound({ member: 2, clusterId: 0xfeedn, peerAddress: '' });
    const expected = revision + REFOUND_REVISIONS;
    expect(driver.apply(command)).toMatchObject([{ kind: 'done', result: expected }]);
    for (const machine of [driver.machine, driver.reloaded().machine]) {
      expect(machine.clusterId).toBe(0xfeedn);
      expect(machine.members().map(({ id, learner }) => [id, learner])).toEqual([[2, false]]);
      expect(machine.revision).toBe(expected);
    }
    expect(driver.hello(1, 2)).toMatchObject({ result: 'unknown-member' });
    expect(driver.hello(2, 2)).toMatchObject({ result: 'accepted' });
  });

  it('is known at the address it is given, else at the one on record', () => {
    const driver = new Driver();
    const address = () => driver.machine.members()[0]?.peerAddress;
    driver.apply(encodeRefound({ member: 2, clusterId: 1n, peerAddress: 'elsewhere:2380' }));
    expect(address()).toBe('elsewhere:2380');
    driver.apply(encodeRefound({ member: 2, clusterId: 2n, peerAddress: '' }));
    expect(address()).toBe('elsewhere:2380');
  });

  it('does not become one by a command that a peer forwards', () => {
    const { machine } = new Driver();
    expect(machine.knows(encodeRefound({ member: 2, clusterId: 1n, peerAddress: '' }))).toBe(false);
  });

  it('must be on record', () => {
    const driver = new Driver();
    const hash = driver.machine.clusterId;
    const outcome = driver.apply(encodeRefound({ member: 9, clusterId: 1n, peerAddress: '' }));
    expect(outcome).toMatchObject([{ kind: 'done', result: 0 }]);
    expect(driver.machine.clusterId).toBe(hash);
    expect(driver.machine.members().length).toBe(3);
  });
});
