import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { startZookeeperDoor } from '../src/index.ts';
import { OpCode, Xid } from '../src/opcodes.ts';
import { summary } from './door-world.ts';
import { body, connectFrame, requestFrame } from './frames.ts';
import { nodeClock, nodeRandom } from './node-ports.ts';
import { type OpenDoor, openDoor } from './open-door.ts';
import { SocketClient } from './socket-client.ts';

let door: OpenDoor;

beforeEach(async () => {
  door = await openDoor();
});

afterEach(() => door.close());

async function connected(): Promise<SocketClient> {
  const client = await SocketClient.dial(door.address);
  await client.handshake();
  return client;
}

/** Text of a four-letter word. */
async function word(text: string, address = door.address): Promise<string> {
  const client = await SocketClient.dial(address);
  client.socket.write(text);
  await client.closed;
  return client.received.toString();
}

describe('a real socket', () => {
  test('the pipelining rule holds for one TCP segment', async () => {
    const client = await connected();
    await client.ask(OpCode.Create, body.create('/n', '0'));
    const frames: Buffer[] = [];
    for (let i = 1; i <= 5; i++) {
      frames.push(requestFrame(i * 10, OpCode.SetData, body.setData('/n', String(i))));
      frames.push(requestFrame(i * 10 + 1, OpCode.GetData, body.read('/n', true)));
    }
    frames.push(requestFrame(Xid.Ping, OpCode.Ping));
    client.socket.write(Buffer.concat(frames));
    const messages = await client.messages(15);
    expect(summary(messages)).toEqual([
      '10 ok',
      ...['11 ok', 'changed /n', '20 ok'],
      ...['21 ok', 'changed /n', '30 ok'],
      ...['31 ok', 'changed /n', '40 ok'],
      ...['41 ok', 'changed /n', '50 ok'],
      '51 ok',
      '-2 ok',
    ]);
  });

  test('a frame of the limit is accepted, one byte more closes the connection', async () => {
    const client = await connected();
    const overhead = requestFrame(1, OpCode.Create, body.create('/big', '')).length - 4;
    const most = 0xfffff - overhead;
    const { reply } = await client.ask(OpCode.Create, body.create('/big', 'y'.repeat(most)));
    expect(reply.error).toBe(0);
    client.socket.write(requestFrame(2, OpCode.SetData, body.setData('/b', 'y'.repeat(0xfffff))));
    await client.closed;
  });

  test('closeSession is answered, then the server closes', async () => {
    const client = await connected();
    const { reply } = await client.ask(OpCode.CloseSession);
    expect(reply.error).toBe(0);
    await client.closed;
  });

  test('a session outlives its connection and can be attached again', async () => {
    const first = await SocketClient.dial(door.address);
    const { sessionId, password } = await first.handshake();
    await first.ask(OpCode.Create, body.create('/e', '', 1));
    const second = await SocketClient.dial(door.address);
    const answer = await second.handshake({ sessionId, password });
    expect(answer.sessionId).toBe(sessionId);
    await first.closed;
    expect((await second.ask(OpCode.Exists, body.read('/e'))).reply.error).toBe(0);
  });
});

describe('bad input', () => {
  test('half a handshake and silence are closed after the handshake timeout', async () => {
    const hasty = await openDoor({ handshakeTimeoutMs: 100 });
    const client = await SocketClient.dial(hasty.address);
    client.socket.write(connectFrame().subarray(0, 30));
    await client.closed;
    expect(client.received).toHaveLength(0);
    await hasty.close();
  });

  test('random bytes never harm the door', async () => {
    let seed = 12_345;
    const next = () => {
      seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
      return seed >>> 24;
    };
    for (let round = 0; round < 40; round++) {
      const client = round % 2 === 0 ? await SocketClient.dial(door.address) : await connected();
      const bytes = Buffer.from(Array.from({ length: 400 }, next));
      // Half of the rounds look like frames, so that bodies are reached.
      if (round % 4 >= 2) bytes.writeInt32BE(396, 0);
      if (round % 4 === 3) bytes.writeInt32BE(round % 24, 8);
      client.socket.write(bytes);
      client.socket.end();
      await client.closed;
    }
    expect((await (await connected()).ask(OpCode.Exists, body.read('/'))).reply.error).toBe(0);
  });

  test('an unknown word closes the connection without a byte', async () => {
    expect(await word('abcd')).toBe('');
  });

  test('a hundred thousand pipelined reads are all answered once the client reads', async () => {
    const client = await connected();
    await client.ask(OpCode.Create, body.create('/n', 'x'.repeat(100)));
    client.socket.pause();
    const one = requestFrame(7, OpCode.GetData, body.read('/n'));
    client.socket.write(Buffer.alloc(one.length * 100_000, one));
    await new Promise((resolve) => setTimeout(resolve, 50));
    client.received = Buffer.alloc(0);
    let answered = 0;
    client.socket.removeAllListeners('data');
    const replyBytes = 4 + 16 + 4 + 100 + 68;
    await new Promise<void>((resolve) => {
      client.socket.on('data', (chunk) => {
        answered += chunk.length;
        if (answered >= replyBytes * 100_000) resolve();
      });
      client.socket.resume();
    });
    expect(answered).toBe(replyBytes * 100_000);
  }, 20_000);
});

describe('four-letter words', () => {
  test('ruok and isro answer without a newline', async () => {
    expect(await word('ruok')).toBe('imok');
    expect(await word('isro\n')).toBe('rw');
  });

  test('srvr shows what monitoring tools parse', async () => {
    await connected();
    const text = await word('srvr');
    expect(text).toMatch(/^Zookeeper version: \d+\.\d+\.\d+-\S+, built on /);
    expect(text).toMatch(/\nLatency min\/avg\/max: \d+\/\d+\.\d+\/\d+\n/);
    expect(text).toMatch(/\nZxid: 0x[0-9a-f]+\nMode: standalone\nNode count: \d+\n$/);
  });

  test('mntr is one key, tab, value in each line', async () => {
    const rows = (await word('mntr')).trimEnd().split('\n');
    expect(rows.every((row) => /^zk_[a-z_]+\t\S.*$/.test(row))).toBe(true);
    expect(rows).toContain('zk_server_state\tstandalone');
    expect(rows).toContain('zk_znode_count\t4');
  });

  test('stat and cons list the connections, conf and envi their pairs', async () => {
    const client = await connected();
    await client.ask(OpCode.GetData, body.read('/', true));
    expect(await word('stat')).toMatch(/Clients:\n \/127\.0\.0\.1:\d+\[1\]\(queued=0,recved=2,/);
    expect(await word('cons')).toMatch(/sid=0x[0-9a-f]+,to=10000\)/);
    expect(await word('conf')).toContain('tickTime=2000\n');
    expect(await word('envi')).toMatch(/zookeeper\.version=\d+\.\d+/);
    expect(await word('wchs')).toBe('1 connections watching 1 paths\nTotal watches:1\n');
    expect(await word('dump')).toContain('SessionTracker dump:');
  });

  test('without a majority ruok answers and srvr says why not', async () => {
    door.replica.setContact(false);
    expect(await word('ruok')).toBe('imok');
    expect(await word('srvr')).toBe('This ZooKeeper instance is not currently serving requests\n');
  });

  test('wchc and wchp name sessions and paths where they are allowed', async () => {
    const open = await openDoor({ words: new Set(['wchc', 'wchp']) });
    const client = await SocketClient.dial(open.address);
    const { sessionId } = await client.handshake();
    await client.ask(OpCode.Exists, body.read('/a', true));
    await client.ask(OpCode.GetChildren, body.read('/', true));
    const id = `0x${sessionId.toString(16)}`;
    expect(await word('wchc', open.address)).toBe(`${id}\n\t/\n\t/a\n\n`);
    expect(await word('wchp', open.address)).toBe(`/\n\t${id}\n/a\n\t${id}\n\n`);
    await open.close();
  });

  test('a word that is not allowed says so', async () => {
    const strict = await openDoor({ words: new Set(['srvr']) });
    expect(await word('mntr', strict.address)).toBe(
      'mntr is not executed because it is not in the whitelist.\n',
    );
    await strict.close();
  });
});

describe('opening the port', () => {
  const failure = (address: string) =>
    new Promise((resolve) => {
      const { replica } = door;
      const options = { replica, address, clock: nodeClock, random: nodeRandom };
      startZookeeperDoor(options, (error) => resolve(error?.code));
    });

  test('an address in use and one that is none are told apart', async () => {
    expect(await failure(door.address)).toBe('ADDRESS_IN_USE');
    expect(await failure('nowhere')).toBe('INVALID_OPTION');
    expect(await failure('127.0.0.1:99999')).toBe('INVALID_OPTION');
  });
});
