import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ETCD, type EtcdTarget, startOurs, startReference } from './etcd-targets.ts';

/**
 * The same JSON requests to real etcd's gateway and to ours, on fresh stores: bodies must be equal
 * save for ids and for the members that only one generation of the gateway has.
 */

const required = process.env.CI !== undefined;
const base64 = (text: string) => Buffer.from(text).toString('base64');
const a = base64('a');
const b = base64('b');
const z = base64('z');

/** Ids differ between clusters; lease ids are chosen by the requests. */
const masked = (text: string) =>
  text.replace(/"(cluster_id|member_id|raft_term)":"\d+"/g, '"$1":"<n>"');

describe.runIf(ETCD !== undefined || required)('JSON clients see no difference', () => {
  let targets: EtcdTarget[] = [];

  beforeAll(async () => {
    targets = await Promise.all([startReference(), startOurs()]);
  });
  afterAll(() => Promise.all(targets.map((target) => target.close())));

  /** Answers of both targets to the same requests, in order. */
  const both = (requests: readonly (readonly [path: string, body: unknown])[]) =>
    Promise.all(
      targets.map(async ({ endpoints }) => {
        const answers: string[] = [];
        for (const [path, body] of requests) {
          const response = await fetch(`http://${endpoints.split(',')[0]}${path}`, {
            method: 'POST',
            body: typeof body === 'string' ? body : JSON.stringify(body),
          });
          const text = (await response.text()).trim();
          answers.push(`${path} ${JSON.stringify(body)}\n${response.status} ${masked(text)}`);
        }
        return answers;
      }),
    );

  it('for reads and writes', async () => {
    const put = { request_put: { key: a, value: b, prev_kv: true } };
    const [reference, ours] = await both([
      ['/v3/kv/range', { key: a }],
      ['/v3/kv/put', { key: a, value: a }],
      ['/v3/kv/put', { key: a, value: b, prev_kv: true }],
      ['/v3/kv/put', { key: b }],
      ['/v3/kv/range', { key: a, range_end: z, limit: 1, unknown: true }],
      ['/v3/kv/range', { key: a, range_end: z, sort_order: 'DESCEND', sort_target: 'KEY' }],
      ['/v3/kv/range', { key: a, range_end: z, count_only: true }],
      ['/v3/kv/range', { key: a, revision: '2' }],
      ['/v3/kv/txn', { success: [put, { request_range: { key: a } }] }],
      ['/v3/kv/txn', { success: [{ request_delete_range: { key: z } }] }],
      [
        '/v3/kv/txn',
        {
          compare: [{ target: 'CREATE', result: 'EQUAL', key: a, create_revision: '0' }],
          success: [put],
          failure: [{ request_txn: { success: [put] } }],
        },
      ],
      ['/v3/kv/deleterange', { key: a, range_end: z, prev_kv: true }],
      ['/v3/kv/compaction', { revision: '3' }],
      ['/v3/lease/grant', { TTL: 60, ID: 77 }],
      ['/v3/kv/put', { key: a, lease: '77' }],
      ['/v3/lease/keepalive', { ID: '77' }],
      ['/v3/lease/keepalive', { ID: '78' }],
      ['/v3/lease/timetolive', { ID: '78' }],
      ['/v3/lease/leases', {}],
      ['/v3/kv/lease/revoke', { ID: '77' }],
      ['/v3/lock/unlock', { key: base64('nothing') }],
    ]);
    expect(ours).toEqual(reference);
  });

  it('for refusals', async () => {
    const [reference, ours] = await both([
      ['/v3/kv/range', {}],
      ['/v3/kv/range', { key: a, revision: '1000' }],
      ['/v3/kv/range', { key: a, revision: '2' }],
      ['/v3/kv/put', { key: a, lease: '5' }],
      ['/v3/kv/put', { key: a, ignore_value: true, value: a }],
      ['/v3/lease/revoke', { ID: '5' }],
      ['/v3/kv/txn', { success: [{}] }],
      ['/v3/election/leader', { name: a }],
      ['/v3/election/proclaim', {}],
    ]);
    expect(ours).toEqual(reference);
  });

  it('for watches', async () => {
    const told = await Promise.all(
      targets.map(async ({ endpoints }) => {
        const url = `http://${endpoints.split(',')[0]}`;
        const post = async (path: string, body: object) =>
          await fetch(url + path, { method: 'POST', body: JSON.stringify(body) });
        const create = { key: base64('w'), range_end: base64('x'), prev_kv: true };
        const watch = await post('/v3/watch', { create_request: create });
        const reader = watch.body!.getReader();
        const lines: string[] = [];
        const next = async () => {
          lines.push(
            masked(
              Buffer.from((await reader.read()).value!)
                .toString()
                .trim(),
            ),
          );
        };
        await next();
        await post('/v3/kv/put', { key: base64('w1'), value: a });
        await next();
        await post('/v3/kv/put', { key: base64('w1'), value: b });
        await next();
        await post('/v3/kv/deleterange', { key: base64('w1') });
        await next();
        await reader.cancel();
        return lines;
      }),
    );
    expect(told[1]).toEqual(told[0]);
  });
});
