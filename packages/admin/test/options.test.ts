import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { OptionTable } from '../src/index.ts';
import { type OpenAdmin, openAdmin } from './open-admin.ts';

describe('cluster options over HTTP', () => {
  let opened: OpenAdmin;

  beforeEach(async () => {
    opened = await openAdmin();
  });
  afterEach(() => opened.close());

  const url = () => `http://127.0.0.1:${opened.admin.port}/options`;
  const list = async () => (await fetch(url())).json() as Promise<OptionTable>;
  const post = async (body: unknown, type = 'application/json') => {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const headers = { 'content-type': type };
    const response = await fetch(url(), { method: 'POST', headers, body: text });
    return [response.status, await response.json()] as const;
  };

  it('are refused below the feature level they came with, with both levels', async () => {
    const [status, body] = await post({ name: 'preferred-leaders', value: 'n1' });
    expect([status, body]).toMatchObject([
      503,
      { error: 'this needs feature level 2, the cluster is at 1' },
    ]);
  });

  it('are listed and set through the log', async () => {
    const before = await list();
    const row = before.options.find(({ name }) => name === 'lock-barging');
    expect(row).toMatchObject({ value: 'when-idle', accepted: 'accepts no or when-idle or yes' });
    const index = opened.replica.state.appliedIndex;
    const [status, set] = await post({ name: 'lock-barging', value: 'yes' });
    expect([status, set]).toEqual([200, { ...row, value: 'yes' }]);
    expect(opened.replica.state.appliedIndex).toBe(index + 1);
    expect((await list()).options).toContainEqual({ ...row, value: 'yes' });
  });

  it.each([
    [{ name: 'lock-barging', value: 'perhaps' }, 400, /accepts no or when-idle or yes/],
    [{ name: 'lock-barging', value: 1 }, 400, /1 is not accepted/],
    [{ name: 'election-timeout', value: 5 }, 400, /accepts 100 to 60000/],
    [{ name: 'election-timeout', value: '5' }, 400, /accepts 100 to 60000/],
    [{ name: 'election-timeout' }, 400, /not accepted/],
    [{ name: 'nothing', value: 5 }, 404, /no cluster option "nothing"/],
    ['{', 404, /no cluster option/],
    ['null', 404, /no cluster option/],
    ['x'.repeat(70_000), 413, /65536 bytes/],
  ])('are refused before the log when wrong: %j', async (body, status, error) => {
    const index = opened.replica.state.appliedIndex;
    const [code, said] = await post(body);
    expect(code).toBe(status);
    expect((said as { error: string }).error).toMatch(error);
    expect(opened.replica.state.appliedIndex).toBe(index);
  });

  it('are not set by what a web page may send unasked', async () => {
    const [status] = await post({ name: 'lock-barging', value: 'yes' }, 'text/plain');
    expect(status).toBe(415);
  });
});
