import { describe, expect, test } from 'vitest';
import { Driver } from './driver.ts';
import { STORE } from './toy.ts';

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
});
