import { expect, it } from 'vitest';
import { elementKeyspaces } from '../src/collections.ts';
import { openDoor } from './open-door.ts';
import { RawClient } from './raw-client.ts';

it('frees a large set by and by, and a new one of its name has none of its members', async () => {
  const door = await openDoor();
  const client = await RawClient.open(door.port);
  const members = Array.from({ length: 1000 }, (_, i) => `member-${i}`);
  await client.call('SADD', 'set', ...members);
  const kept = () => door.replica.state.size(elementKeyspaces[0]!);
  expect(kept()).toBe(1000);
  await client.call('DEL', 'set');
  expect(kept()).toBe(900 - 100);
  await client.call('SADD', 'set', 'new');
  expect(await client.call('SMEMBERS', 'set')).toBe('*1\r\n$3\r\nnew\r\n');
  let commands = 0;
  for (; kept() > 1 && commands < 20; commands++) await client.call('SET', 'k', `${commands}`);
  expect(kept()).toBe(1);
  expect(commands).toBeLessThanOrEqual(10);
  client.close();
  await door.close();
});

it('ends a set with its expiry', async () => {
  const door = await openDoor();
  const client = await RawClient.open(door.port);
  await client.call('SADD', 'set', 'a', 'b');
  await client.call('PEXPIRE', 'set', '100');
  door.clock.advance(200);
  door.replica.tick();
  expect(await client.call('SCARD', 'set')).toBe(':0\r\n');
  expect(door.replica.state.size(elementKeyspaces[0]!)).toBe(0);
  client.close();
  await door.close();
});

it('takes long members at random without doing more than it may', async () => {
  const door = await openDoor();
  const client = await RawClient.open(door.port);
  const long = 'x'.repeat(60_000);
  await client.call('SADD', 'set', ...Array.from({ length: 60 }, (_, i) => `${i}${long}`));
  expect(await client.call('SRANDMEMBER', 'set', '-900000')).toContain('exceeds its budget');
  await client.call('MULTI');
  await client.call('SRANDMEMBER', 'set', '-900000');
  expect(await client.call('EXEC')).toContain('exceeds its budget');
  client.close();
  await door.close();
});

it('unites a set with itself a hundred thousand times', async () => {
  const door = await openDoor();
  const client = await RawClient.open(door.port);
  await client.call('SADD', 'set', 'a');
  const same = new Array<string>(200_000).fill('set');
  expect(await client.call('SUNION', ...same)).toBe('*1\r\n$1\r\na\r\n');
  client.close();
  await door.close();
});
