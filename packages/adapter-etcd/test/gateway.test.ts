import { connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { fromJson, toJson } from '../src/gateway/json-codec.ts';
import { PATHS } from '../src/gateway/paths.ts';
import { ENUMS, MESSAGES } from '../src/gen/schema.ts';
import { DoorFixture } from './door-fixture.ts';

let door: DoorFixture;

beforeEach(async () => {
  door = await DoorFixture.open();
});

afterEach(() => door.close());

const base64 = (text: string) => Buffer.from(text).toString('base64');
const request = (path: string, body: unknown, method = 'POST') =>
  fetch(`http://127.0.0.1:${door.handle.port}${path}`, {
    method,
    ...(method === 'POST' && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
const post = async (path: string, body: unknown) => {
  const response = await request(path, body);
  return [response.status, (await response.json()) as Record<string, unknown>] as const;
};
/** Lines of a streamed answer, one at a time. */
async function* lines(response: Response): AsyncGenerator<unknown> {
  let text = '';
  for await (const bytes of response.body!) {
    text += Buffer.from(bytes).toString();
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n')) {
      yield JSON.parse(text.slice(0, end));
      text = text.slice(end + 1);
    }
  }
}

describe('requests', () => {
  it('answers targets that are no URL', async () => {
    for (const target of ['//[', '//', 'http://[::1', '/%', '*', 'x:y']) {
      const socket = connect(door.handle.port, '127.0.0.1');
      const answer = new Promise<string>((resolve) =>
        socket.once('data', (bytes) => resolve(bytes.toString('latin1'))),
      );
      socket.write(`GET ${target} HTTP/1.1\r\nHost: x\r\n\r\n`);
      expect(await answer).toMatch(/^HTTP\/1\.1 4\d\d /);
      socket.destroy();
    }
  });

  it('writes integers as strings and bytes in base64, and leaves zeros out', async () => {
    await post('/v3/kv/put', { key: base64('a'), value: base64('1') });
    const [status, body] = await post('/v3/kv/range', { key: base64('a') });
    expect(status).toBe(200);
    expect(body).toEqual({
      header: {
        cluster_id: '1311768467294899695',
        member_id: '65261',
        revision: '2',
        raft_term: '1',
      },
      kvs: [
        {
          key: base64('a'),
          create_revision: '2',
          mod_revision: '2',
          version: '1',
          value: base64('1'),
        },
      ],
      count: '1',
    });
    expect((await post('/v3/kv/range', { key: base64('b') }))[1]).not.toHaveProperty('count');
  });

  it('takes numbers or strings, names or numbers of enums, camel case, and unknown fields', async () => {
    for (const key of ['a', 'b']) await post('/v3/kv/put', { key: base64(key) });
    const all = { key: base64('a'), rangeEnd: base64('z'), unknown: 1 };
    for (const sort of [
      { limit: 1, sort_order: 'DESCEND', sort_target: 'CREATE' },
      { limit: '1', sort_order: 2, sort_target: 2 },
    ]) {
      const [, body] = await post('/v3/kv/range', { ...all, ...sort });
      expect(body).toMatchObject({ kvs: [{ key: base64('b') }], more: true, count: '2' });
    }
  });

  it('runs the nested transaction of Patroni', async () => {
    const compare = (key: string) => [
      { target: 'CREATE', result: 'EQUAL', key: base64(key), create_revision: '0' },
    ];
    const put = [{ request_put: { key: base64('leader'), value: base64('me') } }];
    const nested = [{ request_txn: { compare: compare('leader'), success: put, failure: [] } }];
    const lost = [{ target: 'VALUE', result: 'EQUAL', key: base64('leader'), value: base64('me') }];
    const txn = { compare: lost, success: put, failure: nested };
    const [, body] = await post('/v3/kv/txn', txn);
    expect(body.succeeded).toBeUndefined();
    expect(body.responses).toEqual([
      {
        response_txn: {
          header: {},
          succeeded: true,
          responses: [{ response_put: { header: { revision: '2' } } }],
        },
      },
    ]);
    expect((await post('/v3/kv/txn', txn))[1]).toMatchObject({ succeeded: true });
  });

  it('answers errors with the members of all generations', async () => {
    const message = 'etcdserver: authentication is not enabled';
    expect(await post('/v3/auth/authenticate', { name: 'a', password: 'b' })).toEqual([
      400,
      { error: message, message, code: 9 },
    ]);
    expect(await post('/v3/lease/revoke', { ID: '5' })).toMatchObject([404, { code: 5 }]);
  });

  it.each([
    ['illegal base64', { key: '***' }],
    ['an integer that is none', { key: base64('a'), limit: 'many' }],
    ['an integer out of range', { key: base64('a'), limit: '9223372036854775808' }],
    ['an unknown name', { key: base64('a'), sort_order: 'SIDEWAYS' }],
    ['a list instead of an object', []],
    ['no JSON', '{"key":'],
  ])('refuses %s', async (_name, body) => {
    expect(await post('/v3/kv/range', body)).toMatchObject([400, { code: 3 }]);
  });

  it('knows POST only, older paths, and nothing else', async () => {
    expect((await request('/v3/kv/range', {}, 'GET')).status).toBe(405);
    expect((await request('/v3alpha/kv/range', {})).status).toBe(404);
    expect((await post('/v3beta/kv/range', { key: base64('a') }))[0]).toBe(200);
    const options = await request('/v3/kv/range', {}, 'OPTIONS');
    expect(options.headers.get('access-control-allow-origin')).toBe('*');
  });

  it('refuses a body larger than a request may be', async () => {
    const body = { key: base64('a'), value: 'A'.repeat(5_000_000) };
    expect(await post('/v3/kv/put', body)).toMatchObject([429, { code: 8 }]);
  });
});

describe('streams', () => {
  it('watch until the client leaves, one line per response', async () => {
    const create = { create_request: { key: base64('a'), range_end: base64('b'), filters: [] } };
    const response = await request('/v3/watch', create);
    const answers = lines(response);
    expect((await answers.next()).value).toMatchObject({
      result: { header: { revision: '1' }, created: true },
    });
    await post('/v3/kv/put', { key: base64('a'), value: base64('1') });
    await post('/v3/kv/deleterange', { key: base64('a') });
    expect((await answers.next()).value).toMatchObject({
      result: { events: [{ kv: { key: base64('a'), mod_revision: '2', value: base64('1') } }] },
    });
    expect((await answers.next()).value).toMatchObject({
      result: { events: [{ type: 'DELETE', kv: { key: base64('a'), mod_revision: '3' } }] },
    });
    await answers.return(undefined);
  });

  it('keep a lease alive with one line, where a TTL of 0 is left out', async () => {
    await post('/v3/lease/grant', { TTL: 60, ID: '7' });
    const alive = await request('/v3/lease/keepalive', { ID: '7' });
    expect(await alive.json()).toMatchObject({ result: { ID: '7', TTL: '60' } });
    const unknown = await request('/v3/lease/keepalive', { ID: 8 });
    const { result } = (await unknown.json()) as { result: object };
    expect(result).not.toHaveProperty('TTL');
  });

  it('end in an error line with the HTTP status when nothing was streamed before', async () => {
    const response = await request('/v3/maintenance/snapshot', {});
    expect(response.status).toBe(501);
    expect(await response.json()).toMatchObject({ error: { grpc_code: 12, http_code: 501 } });
  });
});

describe('the tables', () => {
  it('bind every path to an RPC and messages that exist', async () => {
    for (const [path, , stem] of PATHS) {
      const names = Object.keys(MESSAGES);
      expect(
        names.some((name) => name.endsWith(`.${stem}Request`)),
        path,
      ).toBe(true);
      const answer = await fetch(`http://127.0.0.1:${door.handle.port}${path}`, { method: 'GET' });
      expect(answer.status, path).toBe(405);
    }
  });

  it('read back what they write, for every message with every field set', () => {
    const sample = (type: string, depth = 0): object =>
      Object.fromEntries(
        MESSAGES[type]!.map(([, key, fieldType, flags]) => {
          let value: unknown;
          if (fieldType in MESSAGES) value = depth > 2 ? undefined : sample(fieldType, depth + 1);
          else if (fieldType in ENUMS) value = 1;
          else if (fieldType === 'bytes') value = Buffer.from([0, 255, 62, 63]);
          else if (fieldType === 'string') value = 'text';
          else if (fieldType === 'bool') value = true;
          else value = flags.includes('n') || fieldType === 'uint32' ? 12345 : 2n ** 62n;
          if (flags.includes('r')) value = value === undefined ? [] : [value, value];
          return [key, value];
        }),
      );
    for (const type of Object.keys(MESSAGES)) {
      const json = JSON.parse(JSON.stringify(toJson(type, sample(type))));
      expect(fromJson(type, json), type).toEqual(sample(type));
    }
  });
});
