import { fromByteString } from '@lockstep/model';
import { LocalImage } from '@lockstep/replica';
import { createStateMachine } from '@lockstep/state-machine';
import { describe, expect, it } from 'vitest';
import { redisExtension } from '../src/index.ts';
import { BOOTSTRAP, openDoor } from './open-door.ts';
import { RawClient } from './raw-client.ts';

describe('a member reloaded from its image', () => {
  it('gives the same replies', async () => {
    const door = await openDoor();
    const client = await RawClient.open(door.port);
    for (let i = 0; i < 300; i++) await client.call('SET', `key-${i}`, `${i}`, 'PX', '100000');
    for (let i = 0; i < 300; i += 3) await client.call('DEL', `key-${i}`);
    const members = Array.from({ length: 300 }, (_, i) => `member-${i}`);
    await client.call('SADD', 'set', ...members);
    await client.call('SREM', 'set', ...members.slice(0, 250).reverse());
    await client.call('SADD', 'set', ...members.slice(100, 200));
    await client.call('SET', 'at', 'x', 'PXAT', '1900000000123');
    await client.call('SCRIPT', 'LOAD', 'return 1');
    await client.call('LOCK', 'ACQUIRE', 'lock', 'me', 'PX', '50000', 'META', 'note');
    await client.call('SELECT', '7');
    await client.call('SET', 'seven', '7');
    const questions = [
      ['SELECT', '0'],
      ['SCAN', '0', 'COUNT', '50'],
      ['KEYS', '*'],
      ['SMEMBERS', 'set'],
      ['SSCAN', 'set', '0', 'COUNT', '20'],
      ['PEXPIRETIME', 'at'],
      ['LOCK', 'INFO', 'lock'],
      ['FENCE', 'lock'],
      ['EVALSHA', 'e0e1f9fabfc9d4800c877a703b823ac0578ff8db', '0'],
      ['SELECT', '7'],
      ['GET', 'seven'],
      ['DBSIZE'],
    ];
    const before: string[] = [];
    for (const words of questions) before.push(await client.call(...words));
    const reloaded = createStateMachine({
      extensions: [redisExtension],
      image: new LocalImage(),
      bootstrap: BOOTSTRAP,
    });
    for (const { key, value } of door.image.records()) reloaded.load(fromByteString(key), value);
    reloaded.loaded();
    expect(reloaded.stateHash()).toBe(door.replica.state.stateHash());
    const second = await openDoor({}, reloaded);
    const again = await RawClient.open(second.port);
    const after: string[] = [];
    for (const words of questions) after.push(await again.call(...words));
    expect(after).toEqual(before);
    client.close();
    again.close();
    await Promise.all([door.close(), second.close()]);
  });
});
