import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { MemberTable } from '../src/index.ts';
import { type OpenAdmin, openAdmin } from './open-admin.ts';

describe('members over HTTP', () => {
  let opened: OpenAdmin;

  beforeEach(async () => {
    opened = await openAdmin();
  });
  afterEach(() => opened.close());

  const url = () => `http://127.0.0.1:${opened.admin.port}/members`;
  const list = async () => ((await (await fetch(url())).json()) as MemberTable).members;
  const post = async (body: object, type = 'application/json') => {
    const headers = { 'content-type': type };
    const response = await fetch(url(), { method: 'POST', headers, body: JSON.stringify(body) });
    return [response.status, (await response.json()) as MemberTable] as const;
  };

  it('are listed with their parts in the cluster', async () => {
    expect(await list()).toMatchObject([
      { id: 1, etcdId: '1', name: 'n1', role: 'leader', started: true, caughtUp: false },
    ]);
  });

  it('are added, moved and removed; the answer is the new list', async () => {
    const add = { action: 'add', peerAddress: '10.0.0.2:2380', learner: true };
    const [status, { members, changed }] = await post(add);
    expect([status, changed]).toEqual([200, 2]);
    expect(members[1]).toMatchObject({ id: 2, name: '', role: 'learner', started: false });
    expect(await post({ action: 'update', member: 2, peerAddress: 'h:1' })).toMatchObject([
      200,
      {},
    ]);
    expect((await list())[1]).toMatchObject({ peerAddress: 'h:1', role: 'learner' });
    expect(await post({ action: 'remove', member: 2 })).toMatchObject([200, { changed: 2 }]);
    expect(await list()).toHaveLength(1);
  });

  it('are refused with the reason', async () => {
    await post({ action: 'add', peerAddress: '10.0.0.2:2380', learner: true });
    const refused = (text: RegExp) => [409, { error: expect.stringMatching(text) }];
    expect(await post({ action: 'promote', member: 2 })).toEqual(refused(/not caught up/));
    expect(await post({ action: 'promote', member: 1 })).toEqual(refused(/votes already/));
    expect(await post({ action: 'remove', member: 9 })).toEqual(refused(/no such member/));
    expect(await post({ action: 'remove', member: 1 })).toEqual(refused(/too few voters/));
  });

  it('are changed by nothing that is no action', async () => {
    const before = await list();
    for (const body of [
      {},
      { action: 'promote' },
      { action: 'promote', member: 'n1' },
      { action: 'add', peerAddress: 'nowhere', learner: true },
      { action: 'add', peerAddress: 'h:1' },
      ...[
        'h:0',
        'h:99999',
        '1.2.3.4.5:1',
        'a\0b:1',
        'a,b=c:1',
        'user@h:1',
        `${'h'.repeat(300)}:1`,
      ].map((peerAddress) => ({ action: 'add', peerAddress, learner: true })),
      { action: 'explode', member: 1 },
    ]) {
      expect((await post(body))[0]).toBe(400);
    }
    expect((await post({ action: 'remove', member: 1 }, 'text/plain'))[0]).toBe(415);
    expect(await list()).toEqual(before);
  });
});
