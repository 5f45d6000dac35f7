import { afterEach, describe, expect, it } from 'vitest';
import { type OpenDoor, openDoor } from './open-door.ts';
import { RawClient } from './raw-client.ts';

/**
 * The fence check: whoever comes with an older token than one that was seen is refused. These tests
 * stand for the mechanism (README of the state machine): without the check each of them fails.
 */
describe('the fence check', () => {
  let door: OpenDoor | undefined;
  let client: RawClient | undefined;
  const call = (...words: string[]) => client!.call(...words);

  const open = async () => {
    door = await openDoor({});
    client = await RawClient.open(door.port);
  };

  afterEach(async () => {
    client?.close();
    await door?.close();
  });

  it('refuses an old token at GUARD HIGH, once a higher one was seen', async () => {
    await open();
    expect(await call('GUARD', 'HIGH', 'disk', '7', 'SET', 'file', 'by seven')).toBe('+OK\r\n');
    expect(await call('GUARD', 'HIGH', 'disk', '5', 'SET', 'file', 'by five')).toBe(
      "-FENCED Stale token 5 for 'disk', highest is 7\r\n",
    );
    expect(await call('GET', 'file')).toBe('$8\r\nby seven\r\n');
    expect(await call('GUARD', 'HIGH', 'disk', '7', 'SET', 'file', 'again')).toBe('+OK\r\n');
  });

  it('refuses at GUARD whoever held the lock before its present holder', async () => {
    await open();
    const held = async (owner: string) => {
      expect(await call('SET', 'lock', owner)).toBe('+OK\r\n');
      return `${door!.replica.state.revision}`;
    };
    const first = await held('ann');
    const second = await held('ben');
    expect(await call('GUARD', 'lock', first, 'SET', 'file', 'by ann')).toBe(
      `-FENCED Stale token ${first} for 'lock', current is ${second}\r\n`,
    );
    expect(await call('GET', 'file')).toBe('$-1\r\n');
    expect(await call('GUARD', 'lock', second, 'SET', 'file', 'by ben')).toBe('+OK\r\n');
  });
});
