import { describe, expect, it } from 'vitest';
import type { DoorSession } from '../src/door-session.ts';
import type { PushReply } from '../src/reply.ts';
import { type TrackingMode, TrackingTable } from '../src/tracking.ts';
import { openDoor } from './open-door.ts';
import { RawClient } from './raw-client.ts';

const MODE: TrackingMode = { remembers: 'always', prefixes: undefined, noLoop: false, redirect: 0 };

/** As much of a connection as the table looks at. */
class Tracker {
  readonly id: number;
  readonly protocol = 3;
  readonly isAuthor = false;
  readonly told: PushReply['items'][] = [];
  tracking: TrackingMode | undefined = MODE;

  constructor(id: number) {
    this.id = id;
  }

  deliver(message: PushReply): void {
    this.told.push(message.items);
  }
}

function open(sessions: Map<number, Tracker>, id: number, table: TrackingTable): DoorSession {
  const tracker = new Tracker(id);
  sessions.set(id, tracker);
  const session = tracker as unknown as DoorSession;
  table.changedMode(session);
  return session;
}

function close(sessions: Map<number, Tracker>, id: number, table: TrackingTable): void {
  const tracker = sessions.get(id)!;
  tracker.tracking = undefined;
  table.changedMode(tracker as unknown as DoorSession);
  sessions.delete(id);
}

function tableOf(sessions: Map<number, Tracker>, keysMax?: number, bytesMax?: number) {
  const seen = sessions as unknown as ReadonlyMap<number, DoorSession>;
  return new TrackingTable(seen, keysMax, bytesMax);
}

describe('the tracking table', () => {
  it('keeps nobody who is gone, however many came', () => {
    const sessions = new Map<number, Tracker>();
    const table = tableOf(sessions);
    open(sessions, 1, table);
    for (let id = 2; id < 2000; id++) {
      table.remember(open(sessions, id, table), ['key']);
      close(sessions, id, table);
    }
    expect(table.readers).toBeLessThan(40);
    expect(table.isEmpty).toBe(false);
    close(sessions, 1, table);
    expect(table.isEmpty).toBe(true);
  });

  it('forgets long names rather than keep more bytes than it may', () => {
    const sessions = new Map<number, Tracker>();
    const table = tableOf(sessions, 1000, 10_000);
    const session = open(sessions, 1, table);
    const long = 'x'.repeat(3000);
    for (let i = 0; i < 10; i++) table.remember(session, [`${i}${long}`]);
    const { told } = sessions.get(1)!;
    expect(told.length).toBeGreaterThanOrEqual(7);
    expect(told[0]).toEqual(['invalidate', [`0${long}`]]);
  });
});

describe('CLIENT TRACKING', () => {
  it('takes many prefixes, names two that overlap and refuses too many', async () => {
    const door = await openDoor();
    const client = await RawClient.open(door.port);
    const track = (prefixes: readonly string[]) =>
      client.call(
        ...['CLIENT', 'TRACKING', 'ON', 'BCAST'],
        ...prefixes.flatMap((prefix) => ['PREFIX', prefix]),
      );
    const many = Array.from({ length: 60_000 }, (_, i) => `prefix-${100_000 + i}`);
    expect(await track(many)).toBe('+OK\r\n');
    expect(await track(['prefix-10'])).toContain(
      "Prefix 'prefix-10' overlaps with an existing prefix 'prefix-100000'",
    );
    expect(await track(['b', 'a', 'bc'])).toContain(
      "Prefix 'b' overlaps with another provided prefix 'bc'",
    );
    expect(await track(many.map((prefix) => `x${prefix}`))).toContain('ERR too many prefixes');
    client.close();
    await door.close();
  });

  it('tells of changes under each prefix by itself', async () => {
    const door = await openDoor();
    const client = await RawClient.open(door.port);
    const writer = await RawClient.open(door.port);
    await client.call('HELLO', '3');
    const prefixes = ['b', 'a', 'd'].flatMap((prefix) => ['PREFIX', prefix]);
    await client.call('CLIENT', 'TRACKING', 'ON', 'BCAST', ...prefixes);
    await writer.call('MSET', 'd', '1', 'a1', '1', 'c', '1', 'b', '1', '', '1', 'a2', '1');
    const said = [await client.next(), await client.next(), await client.next()];
    const push = (...keys: string[]) =>
      `>2\r\n$10\r\ninvalidate\r\n*${keys.length}\r\n` +
      keys.map((key) => `$${key.length}\r\n${key}\r\n`).join('');
    expect(said).toEqual([push('a1', 'a2'), push('b'), push('d')]);
    client.close();
    writer.close();
    await door.close();
  });
});
