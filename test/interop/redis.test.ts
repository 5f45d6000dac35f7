import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { splitInline } from '../../packages/adapter-redis/src/inline.ts';
import { encode, RawClient } from '../../packages/adapter-redis/test/raw-client.ts';
import { randomCommands } from './redis/random-commands.ts';
import { REDIS_SERVER, type RedisTarget, startOurs, startReference } from './redis-targets.ts';

/**
 * The same commands against real Redis 7.0 and against us, on empty stores: raw replies must be
 * equal. In CI the reference is required.
 */

const required = process.env.CI !== undefined;

/** Replies that differ for a reason, each with the reason; compared by kind only. */
const DIFFERENT: readonly (readonly [pattern: RegExp, why: string])[] = [
  [/^HELLO( 2| 3)?$/, 'version and connection id'],
  [/^WAIT 0 0$/, 'a majority has it already'],
  [/^COMMAND GETKEYS \w+$/, 'since 7.2 a command without arguments is looked up'],
];

describe.runIf(REDIS_SERVER !== undefined || required)('raw replies are those of Redis', () => {
  let reference: RedisTarget;
  let ours: RedisTarget[] = [];

  beforeAll(async () => {
    expect(REDIS_SERVER).toBeDefined();
    [reference, ours] = await Promise.all([startReference(), startOurs()]);
  });

  afterAll(async () => {
    await Promise.all([reference, ...ours].map((target) => target?.close()));
  });

  it('for several hundred commands', async () => {
    const script = readFileSync(new URL('./redis/commands.txt', import.meta.url), 'utf8');
    const lines = script.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    for (const target of ours) {
      const [expected, actual] = await Promise.all([
        transcript(reference, lines),
        transcript(target, lines),
      ]);
      expect(actual).toEqual(tolerate(expected, actual));
    }
  });

  it.each([1, 2, 3, 4, 5])('for random commands of seed %i', async (seed) => {
    const commands = [['FLUSHALL'], ...randomCommands(seed, 2000)];
    const [expected, actual] = await Promise.all([
      pipeline(reference, commands),
      pipeline(ours[0]!, commands),
    ]);
    for (const [i, command] of commands.entries()) {
      const shown = commands.slice(Math.max(0, i - 20), i + 1).map((words) => words.join(' '));
      const [theirs, mine] = [expected[i], actual[i]].map((reply) => {
        const isTime = command[0] === 'EXPIRETIME' || /^[*%]14|^%7/.test(reply ?? '');
        // Seconds since 1970, asked at two servers one after the other, may differ by one.
        return isTime ? reply?.slice(0, 5) : reply?.replace(/^:1[78]\d{8}(\d{3})?\r$/gm, ':now');
      });
      expect({ shown, reply: mine }).toEqual({ shown, reply: theirs });
    }
  });

  it('for requests that break the protocol', async () => {
    for (const input of BROKEN) {
      const [expected, actual] = await Promise.all([
        converse(reference, input),
        converse(ours[0]!, input),
      ]);
      expect({ input, reply: actual }).toEqual({ input, reply: expected });
    }
  });
});

const BROKEN = [
  '*abc\r\n',
  '*2147483648\r\n',
  '*1\r\n$-1\r\n',
  '*1\r\n$abc\r\n',
  '*1\r\n:1\r\n',
  '*0\r\n*-1\r\nPING\r\n*1\r\n$x\r\n',
  'SET "a b\r\n',
  "SET 'a'b\r\n",
  'PING\r\n\r\n  \r\nECHO "\\x41\\n\\t" \r\n*1\r\n%\r\n',
  `*1\r\n${'1'.repeat(70_000)}`,
  'POST / HTTP/1.1\r\nHost: x\r\n\r\n',
  'Host: x\r\n',
  'GET a\nGET b\n*z\r\n',
  "ECHO 'it\\'s'\r\n*z\r\n",
  '*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\nb\r\n*1\r\n$4\r\nPING\r\n*1\r\nX\r\n',
];

/** All bytes that come back until the other side closes. */
async function converse(target: RedisTarget, input: string): Promise<string> {
  const client = await RawClient.open(target.port, target.host);
  client.write(input);
  await client.whenClosed();
  return client.unread;
}

/** Replies to commands sent all at once. */
async function pipeline(
  target: RedisTarget,
  commands: readonly (readonly string[])[],
): Promise<string[]> {
  const client = await RawClient.open(target.port, target.host);
  client.write(Buffer.concat(commands.map(encode)));
  const replies: string[] = [];
  for (const _ of commands) replies.push(await client.next());
  client.close();
  return replies;
}

async function transcript(target: RedisTarget, lines: readonly string[]): Promise<string[]> {
  const clients = new Map<string, RawClient>();
  const replies: string[] = [];
  for (const line of lines) {
    const sleep = /^sleep (\d+)$/.exec(line);
    if (sleep !== null) {
      await new Promise((resolve) => setTimeout(resolve, Number(sleep[1])));
      continue;
    }
    const [, name = 'a', words = ''] = /^(?:(\w)> )?(?:\? )?(.*)$/.exec(line) ?? [];
    let client = clients.get(name);
    if (client === undefined) {
      client = await RawClient.open(target.port, target.host);
      clients.set(name, client);
    }
    const reply = await client.call(...(splitInline(words) ?? []));
    replies.push(`${line}\n${reply}`);
  }
  for (const client of clients.values()) client.close();
  return replies;
}

/** The expected transcript, with the actual reply where a difference is allowed. */
function tolerate(expected: readonly string[], actual: readonly string[]): string[] {
  return expected.map((entry, i) => {
    const other = actual[i] ?? '';
    const [command = ''] = entry.split('\n');
    if (DIFFERENT.some(([pattern]) => pattern.test(command))) return other;
    if (!command.startsWith('? ')) return entry;
    const numbers = [entry, other].map((text) => Number(/:(-?\d+)/.exec(text)?.[1]));
    return Math.abs(numbers[0]! - numbers[1]!) <= 1000 ? other : entry;
  });
}
