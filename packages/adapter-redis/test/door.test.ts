import { LeaseKind } from '@lockstep/model';
import { afterEach, describe, expect, it } from 'vitest';
import { listRedisLocks } from '../src/index.ts';
import { type OpenDoor, openDoor } from './open-door.ts';
import { encode, RawClient } from './raw-client.ts';

describe('the door', () => {
  let door: OpenDoor | undefined;
  const clients: RawClient[] = [];

  const open = async (options: Parameters<typeof openDoor>[0] = {}) => {
    door = await openDoor(options);
    return door;
  };
  const connect = async () => {
    const client = await RawClient.open(door!.port);
    clients.push(client);
    return client;
  };

  afterEach(async () => {
    for (const client of clients.splice(0)) client.close();
    await door?.close();
    door = undefined;
  });

  it('lets every GET of a pipeline see the SET before it', async () => {
    await open();
    const client = await connect();
    const bytes: Buffer[] = [];
    for (let i = 0; i < 1000; i++) bytes.push(encode(['SET', 'p', `${i}`]), encode(['GET', 'p']));
    client.write(Buffer.concat(bytes));
    for (let i = 0; i < 1000; i++) {
      expect(await client.next()).toBe('+OK\r\n');
      expect(await client.next()).toBe(`$${`${i}`.length}\r\n${i}\r\n`);
    }
  });

  it('holds a write until the reads before it are answered', async () => {
    await open();
    const client = await connect();
    await client.call('SET', 'k', 'old');
    client.write(Buffer.concat([encode(['GET', 'k']), encode(['SET', 'k', 'new'])]));
    client.send('GET', 'k');
    expect([await client.next(), await client.next(), await client.next()]).toEqual([
      '$3\r\nold\r\n',
      '+OK\r\n',
      '$3\r\nnew\r\n',
    ]);
  });

  it('starts nothing behind a blocked command before it is answered', async () => {
    const { clock, replica } = await open();
    const [holder, waiter] = [await connect(), await connect()];
    await holder.call('SET', 'l', 'me');
    waiter.send('LOCK', 'ACQUIRE', 'l', 'you', 'PX', '1000', 'BLOCK', '100');
    waiter.send('SET', 'after', '1');
    while ((await holder.call('LOCK', 'QUEUE', 'l')) === '*0\r\n');
    expect(await holder.call('EXISTS', 'after')).toBe(':0\r\n');
    clock.advance(101);
    replica.tick();
    expect([await waiter.next(), await waiter.next()]).toEqual(['$-1\r\n', '+OK\r\n']);
  });

  it('closes the connection when the outcome is unknown', async () => {
    const { replica } = await open();
    const client = await connect();
    await client.call('SET', 'k', 'v');
    replica.setContact(false);
    client.send('INCR', 'n');
    while (replica.status().pendingCommands === 0) await turn();
    replica.failPending('UNKNOWN_OUTCOME');
    expect(await client.next()).toBe('<closed>');
  });

  it('says CLUSTERDOWN when there is no leader, and stays open', async () => {
    const { replica } = await open();
    const client = await connect();
    replica.setContact(false);
    client.send('INCR', 'n');
    while (replica.status().pendingCommands === 0) await turn();
    replica.failPending('NO_LEADER');
    expect(await client.next()).toBe('-CLUSTERDOWN No leader\r\n');
    replica.setContact(true);
    expect(await client.call('PING')).toBe('+PONG\r\n');
  });

  it('asks for the password, if there is one', async () => {
    await open({ requirepass: 'geheim' });
    const client = await connect();
    expect(await client.call('GET', 'k')).toBe('-NOAUTH Authentication required.\r\n');
    expect(await client.call('NOSUCH')).toMatch(/^-ERR unknown command/);
    expect(await client.call('HELLO', '3')).toMatch(/^-NOAUTH HELLO must be called/);
    const wrong = '-WRONGPASS invalid username-password pair or user is disabled.\r\n';
    expect(await client.call('AUTH', 'geheiM')).toBe(wrong);
    expect(await client.call('AUTH', 'geheim')).toBe('+OK\r\n');
    expect(await client.call('GET', 'k')).toBe('$-1\r\n');
    const other = await connect();
    expect(await other.call('HELLO', '3', 'AUTH', 'default', 'geheim')).toMatch(/^%7/);
    expect(await other.call('RESET')).toBe('+RESET\r\n');
    expect(await other.call('GET', 'k')).toMatch(/^-NOAUTH/);
    const flood = await connect();
    flood.write('*11\r\n');
    expect(await flood.next()).toMatch(/unauthenticated multibulk length/);
    await flood.whenClosed();
  });

  it('gives back a lock whose waiter is gone when it is served', async () => {
    const { replica } = await open();
    const [holder, waiter] = [await connect(), await connect()];
    await holder.call('SET', 'l', 'me');
    waiter.send('LOCK', 'ACQUIRE', 'l', 'you', 'PX', '100000', 'BLOCK', '0');
    while ((await holder.call('LOCK', 'QUEUE', 'l')) === '*0\r\n');
    replica.setContact(false);
    holder.send('DEL', 'l');
    while (replica.status().pendingCommands < 1) await turn();
    // Too late to leave the queue: the release that serves it is ahead in the log.
    waiter.close();
    while (replica.status().pendingCommands < 2) await turn();
    replica.setContact(true);
    expect(await holder.next()).toBe(':1\r\n');
    while ((await holder.call('EXISTS', 'l')) !== ':0\r\n');
    expect(await holder.call('LOCK', 'QUEUE', 'l')).toBe('*0\r\n');
  });

  it('opens no lease for a SESSION lock that it refuses', async () => {
    const { replica } = await open();
    const [holder, other] = [await connect(), await connect()];
    const leases = () => replica.state.leases(LeaseKind.RedisConnection).length;
    await holder.call('SET', 'l', 'me');
    expect(await other.call('LOCK', 'ACQUIRE', 'l', 'you', 'SESSION')).toBe('$-1\r\n');
    expect(leases()).toBe(0);
    await holder.call('DEL', 'l');
    expect(await other.call('LOCK', 'ACQUIRE', 'l', 'you', 'SESSION')).toMatch(/^:/);
    expect(leases()).toBe(1);
  });

  it('ends SESSION locks with their connection, and renews them until then', async () => {
    const { clock, replica } = await open();
    const [holder, other] = [await connect(), await connect()];
    await holder.call('LOCK', 'ACQUIRE', 'l', 'me', 'SESSION');
    for (let i = 0; i < 10; i++) {
      clock.advance(3_400);
      replica.tick();
      await turn();
      expect(await holder.call('PING')).toBe('+PONG\r\n');
    }
    expect(await other.call('EXISTS', 'l')).toBe(':1\r\n');
    holder.close();
    while ((await other.call('EXISTS', 'l')) === ':1\r\n');
  });

  it('lists locks for people', async () => {
    const { replica } = await open();
    const client = await connect();
    await client.call('SET', 'data', 'x');
    await client.call('SET', 'b', 'owner', 'NX', 'PX', '5000');
    await client.call('LOCK', 'ACQUIRE', 'a', 'me', 'PX', '7000');
    const times = { clusterMs: replica.state.time };
    expect(listRedisLocks(replica.state, times)).toEqual([
      { door: 'redis', name: 'a', holder: 'me', token: 4, leaseMsLeft: 7000, waiters: 0 },
      { door: 'redis', name: 'b', holder: 'owner', token: 3, leaseMsLeft: 5000, waiters: 0 },
    ]);
  });

  it('closes subscribers and blocked clients after a snapshot install', async () => {
    const { replica } = await open();
    const [subscriber, blocked, plain] = [await connect(), await connect(), await connect()];
    await subscriber.call('SUBSCRIBE', 'ch');
    await plain.call('SET', 'l', 'me');
    await plain.call('WATCH', 'l');
    blocked.send('LOCK', 'ACQUIRE', 'l', 'you', 'PX', '1', 'BLOCK', '0');
    while ((await plain.call('LOCK', 'QUEUE', 'l')) === '*0\r\n');
    replica.skip(1, 2);
    await Promise.all([subscriber.whenClosed(), blocked.whenClosed()]);
    await plain.call('MULTI');
    await plain.call('GET', 'l');
    expect(await plain.call('EXEC')).toBe('*-1\r\n');
  });

  it('answers a read-only script that never ends, alone and behind a write', async () => {
    await open();
    const client = await connect();
    const over = '-ERR the transaction exceeds its budget and was undone\r\n';
    expect(await client.call('EVAL_RO', 'while true do end', '0')).toBe(over);
    client.write(
      Buffer.concat([encode(['SET', 'k', 'v']), encode(['EVAL_RO', 'while true do end', '0'])]),
    );
    expect([await client.next(), await client.next()]).toEqual(['+OK\r\n', over]);
    expect(await client.call('GET', 'k')).toBe('$1\r\nv\r\n');
  });

  it('lets no read-only script raise a fence', async () => {
    const { replica } = await open();
    const client = await connect();
    const script = "return redis.call('GUARD', 'HIGH', 'r', '5', 'GET', 'k')";
    const refused = /Write commands are not allowed from read-only scripts/;
    expect(await client.call('EVAL_RO', script, '0')).toMatch(refused);
    client.write(Buffer.concat([encode(['SET', 'k', 'v']), encode(['EVAL_RO', script, '0'])]));
    expect(await client.next()).toBe('+OK\r\n');
    expect(await client.next()).toMatch(refused);
    expect(await client.call('EVAL', `#!lua flags=no-writes\n${script}`, '0')).toMatch(refused);
    expect(replica.state.fence('r')).toBe(0);
  });

  it('never queues a script for a lock', async () => {
    const { replica } = await open();
    const client = await connect();
    await client.call('SET', 'l', 'me');
    const script = "return redis.call('LOCK','ACQUIRE','l','you','PX','1000','BLOCK','0')";
    expect(await client.call('EVAL', script, '0')).toBe('$-1\r\n');
    expect(await client.call('LOCK', 'QUEUE', 'l')).toBe('*0\r\n');
    expect(replica.status().health).toBe('ok');
  });

  it('lets all scripts of an EXEC share one budget', async () => {
    await open();
    const client = await connect();
    await client.call('MULTI');
    const script = "redis.call('set', KEYS[1], 'v') for i = 1, 300000 do end";
    for (let i = 0; i < 20; i++) await client.call('EVAL', script, '1', `k${i}`);
    expect(await client.call('EXEC')).toBe(
      '-ERR the transaction exceeds its budget and was undone\r\n',
    );
    expect(await client.call('GET', 'k0')).toBe('$-1\r\n');
    expect(await client.call('EVAL', script, '1', 'alone')).toBe('$-1\r\n');
  });

  it('refuses a reply of many copies of a large value, in MULTI and alone', async () => {
    await open();
    const client = await connect();
    const over = '-ERR the transaction exceeds its budget and was undone\r\n';
    await client.call('SET', 'large', 'x'.repeat(1_000_000));
    expect(await client.call('MGET', ...Array<string>(1000).fill('large'))).toBe(over);
    await client.call('MULTI');
    await client.call('SET', 'k', 'v');
    for (let i = 0; i < 300; i++) await client.call('GET', 'large');
    expect(await client.call('EXEC')).toBe(over);
    expect(await client.call('GET', 'k')).toBe('$-1\r\n');
    client.write(Buffer.concat([encode(['SET', 'k', 'v']), encode(['STRLEN', 'large'])]));
    expect([await client.next(), await client.next()]).toEqual(['+OK\r\n', ':1000000\r\n']);
  });

  it('counts the bytes that changes of a large value go through', async () => {
    await open();
    const client = await connect();
    const over = '-ERR the transaction exceeds its budget and was undone\r\n';
    await client.call('SET', 'large', 'x'.repeat(1_000_000));
    for (const change of ["'APPEND', KEYS[1], 'y'", "'SETRANGE', KEYS[1], '0', 'y'"]) {
      const script = `for i = 1, 1000 do redis.call(${change}) end`;
      expect(await client.call('EVAL', script, '1', 'large')).toBe(over);
    }
    const copies = "for i = 1, 1000 do redis.call('COPY', KEYS[1], 'c' .. i) end";
    expect(await client.call('EVAL', copies, '1', 'large')).toBe(over);
    expect(await client.call('STRLEN', 'large')).toBe(':1000000\r\n');
  });

  it('spends the budget on patterns that take long to match', async () => {
    await open();
    const client = await connect();
    await client.call('SET', 'a'.repeat(100_000), 'v');
    const slow = `*${'a'.repeat(50_000)}b`;
    const over = '-ERR the transaction exceeds its budget and was undone\r\n';
    expect(await client.call('KEYS', slow)).toBe(over);
    expect(await client.call('SCAN', '0', 'MATCH', slow)).toBe(over);
    expect(await client.call('KEYS', 'b*')).toBe('*0\r\n');
  });

  it('refuses to listen to names of kilobytes', async () => {
    await open();
    const client = await connect();
    const long = 'x'.repeat(5000);
    const refused = '-ERR name is longer than 4096 bytes\r\n';
    expect(await client.call('SUBSCRIBE', 'short', long)).toBe(refused);
    expect(await client.call('PSUBSCRIBE', long)).toBe(refused);
    expect(await client.call('PUBLISH', 'short', 'm')).toBe(':0\r\n');
  });

  it('takes no revision for scripts kept and forgotten, nor for messages', async () => {
    const { replica } = await open();
    const client = await connect();
    await client.call('SET', 'k', 'v');
    const { revision } = replica.state;
    expect(await client.call('EVAL', "return redis.call('get', 'k')", '0')).toBe('$1\r\nv\r\n');
    const sha = (await client.call('SCRIPT', 'LOAD', 'return 1')).split('\r\n')[1]!;
    await client.call('PUBLISH', 'c', 'm');
    await client.call('MULTI');
    await client.call('SCRIPT', 'FLUSH');
    await client.call('SCRIPT', 'LOAD', 'return 1');
    expect(await client.call('EXEC')).toMatch(/^\*2\r\n\+OK/);
    expect(await client.call('EVALSHA', sha, '0')).toBe(':1\r\n');
    expect(replica.state.revision).toBe(revision);
    expect(await client.call('EVAL', "return redis.call('set', 'k', 'w', 'FENCE')", '0')).toBe(
      `:${revision + 1}\r\n`,
    );
  });

  it('undoes a script that never ends, and goes on', async () => {
    await open();
    const client = await connect();
    const reply = await client.call('EVAL', "redis.call('set','k','v') while true do end", '0');
    expect(reply).toBe('-ERR the transaction exceeds its budget and was undone\r\n');
    expect(await client.call('GET', 'k')).toBe('$-1\r\n');
  });

  it('counts the subscribers that other members gossip', async () => {
    const { clock, replica } = await open();
    const client = await connect();
    await client.call('SUBSCRIBE', 'ch');
    clock.advance(100);
    const counts = replica.gossiped.get('redis')!;
    replica.receiveGossip(2, 'redis', counts);
    replica.receiveGossip(3, 'redis', Buffer.from([0xff]));
    const other = await connect();
    expect(await other.call('PUBLISH', 'ch', 'x')).toBe(':2\r\n');
    expect(await other.call('PUBSUB', 'NUMSUB', 'ch')).toBe('*2\r\n$2\r\nch\r\n:2\r\n');
  });

  it('survives anything at its port', async () => {
    await open();
    const inputs = ['\0\0\0\0', '*1\r\n$9999999999\r\n', '*-1\r\n*0\r\n', '\xff'.repeat(70_000)];
    for (const input of inputs) {
      const client = await connect();
      client.write(input);
      client.close();
    }
    const reader = await connect();
    expect(await reader.call('PING')).toBe('+PONG\r\n');
  });

  it('refuses what is too large for one entry, and goes on', async () => {
    await open();
    const client = await connect();
    const half = 'x'.repeat(2_500_000);
    expect(await client.call('MSET', 'a', half, 'b', half)).toMatch(/^-ERR command of 5\d+ bytes/);
    await client.call('MULTI');
    expect(await client.call('SET', 'a', half)).toBe('+QUEUED\r\n');
    expect(await client.call('SET', 'b', half)).toMatch(/^-ERR command of 5\d+ bytes/);
    expect(await client.call('EXEC')).toMatch(/^-EXECABORT/);
    expect(await client.call('EXISTS', 'a', 'b')).toBe(':0\r\n');
  });

  it('stops reading from a client that does not read', async () => {
    const { replica } = await open();
    const client = await connect();
    await client.call('SET', 'big', 'x'.repeat(1_000_000));
    const slow = await connect();
    slow.pause();
    for (let i = 0; i < 200; i++) slow.send('GET', 'big');
    for (let i = 0; i < 50; i++) await turn();
    expect(await client.call('PING')).toBe('+PONG\r\n');
    expect(replica.status().pendingCommands).toBe(0);
    slow.resume();
    for (let i = 0; i < 200; i++) expect((await slow.next()).length).toBe(1_000_012);
  });

  it('closes a subscriber that falls too far behind', async () => {
    await open();
    const [slow, publisher] = [await connect(), await connect()];
    await slow.call('SUBSCRIBE', 'ch');
    slow.pause();
    const message = 'x'.repeat(500_000);
    for (let i = 0; i < 60; i++) await publisher.call('PUBLISH', 'ch', message);
    expect(await publisher.call('PUBSUB', 'NUMSUB', 'ch')).toBe('*2\r\n$2\r\nch\r\n:0\r\n');
  });
});

/** Lets the door and the replica have their turn. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
