import { basename } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EtcdSession } from './etcd-session.ts';
import {
  ETCD,
  type EtcdTarget,
  etcdctls,
  MEMBERS,
  startOurs,
  startReference,
} from './etcd-targets.ts';

/**
 * The same etcdctl commands against real etcd and against us, on fresh stores: what they print and
 * how they exit must be equal, save for ids, times and addresses. In CI both binaries are required.
 */

const clients = etcdctls();
const available = ETCD !== undefined && clients.length > 0;
const required = process.env.CI !== undefined;

describe.runIf(available || required)('etcdctl sees no difference', () => {
  it('has etcd and etcdctl to compare with', () => {
    expect({ etcd: ETCD, clients }).toMatchObject({ etcd: expect.any(String) });
    expect(clients.length).toBeGreaterThan(0);
  });

  describe.each(clients.flatMap((etcdctl) => MEMBERS.map((asked) => [etcdctl, asked] as const)))(
    '%s through the %s',
    (etcdctl, asked) => {
      let targets: EtcdTarget[] = [];
      let sessions: EtcdSession[] = [];

      beforeAll(async () => {
        targets = await Promise.all([startReference(), startOurs(asked)]);
        sessions = targets.map(({ endpoints }) => new EtcdSession(etcdctl, endpoints));
      });

      afterAll(async () => {
        for (const session of sessions) session.close();
        await Promise.all(targets.map((target) => target.close()));
      });

      /** Runs a script on both and compares what was written down; then both go on together. */
      const compare = async (script: (session: EtcdSession) => Promise<void>): Promise<void> => {
        await Promise.all(sessions.map(script));
        const [reference, ours] = sessions.map(({ transcript }) => transcript.splice(0));
        expect(ours).toEqual(reference);
      };
      const commands = (...lines: string[]) =>
        compare(async (session) => {
          for (const line of lines) await session.run(line.split(' '));
        });

      it('putting and getting, with every flag', () =>
        commands(
          'get nothing -w json',
          'put a 1 -w json',
          'put a 2 --prev-kv',
          'put b 3 --prev-kv -w json',
          'put a --ignore-value',
          'put a 4 --ignore-lease -w json',
          'put none --ignore-value',
          'put none 1 --ignore-lease',
          'put a 5 --lease 123',
          'get a -w json',
          'get a -w fields',
          'get --prefix -w json ',
          'get a c -w json',
          'get --from-key b',
          'get --prefix a --keys-only',
          'get --prefix a --print-value-only',
          'get --prefix --count-only -w fields a',
          'get a z --limit 1 -w json',
          'get a z --sort-by VALUE --order DESCEND',
          'get a z --sort-by MODIFY --order ASCEND',
          'get a z --sort-by CREATE --order DESCEND',
          'get a z --sort-by VERSION',
          'get a --rev 2 -w json',
          'get a --rev 1 -w json',
          'get a --rev 1000',
          'get a --consistency s',
          'get b a -w json',
        ));

      it('deleting', () =>
        commands(
          'put d1 1',
          'put d2 2',
          'put d3 3',
          'del d1 --prev-kv',
          'del d1 -w json',
          'del --prefix d --prev-kv -w json',
          'del --from-key zzz',
          'get a -w json',
        ));

      it('transactions', () =>
        compare(async (session) => {
          const txn = (text: string, ...flags: string[]) => session.run(['txn', ...flags], text);
          await txn('create("t") = "0"\n\nput t 1\nget t\n\nget t\n\n');
          await txn('create("t") = "0"\n\nput t 1\n\nget t\n\n', '-w', 'json');
          await txn(
            'value("t") = "1"\nmod("t") > "1"\nver("t") = "1"\n\nput t 2\ndel a\nget t\n\n\n',
            '-w',
            'json',
          );
          await txn('value("absent") != "x"\n\nput q 1\n\nput q 2\n\n');
          await txn('\nput t 1\nput t 2\n\n\n');
          await txn('\ndel t\nput t 2\n\n\n');
          await txn('\ndel none\n\n\n', '-w', 'json');
          await txn('\nget --prefix t\n\n\n', '-w', 'json');
          await session.run(['get', '--prefix', 't', '-w', 'json']);
        }));

      it('watching from the past, with filters, pairs before and ranges', () =>
        compare(async (session) => {
          for (const value of ['1', '2']) await session.run(['put', 'w1', value]);
          await session.run(['put', 'w2', '3']);
          await session.run(['del', '--prefix', 'w']);
          const { revision } = JSON.parse(await session.run(['get', 'w', '-w', 'json'])).header;
          const from = ['--rev', String(revision - 3)];
          await session.watch(['watch', ...from, '--prefix', 'w'], 15);
          await session.watch(['watch', ...from, '--prefix', 'w', '--prev-kv'], 21);
          await session.watch(['watch', ...from, 'w1'], 9);
          await session.watch(['watch', ...from, 'w1', 'w2', '-w', 'json'], 1);
          const future = ['watch', '--rev', String(revision + 2), '--prefix', 'w'];
          const told = session.watch(future, 3);
          for (const value of ['1', '2', '3']) await session.query(['put', 'w9', value]);
          await told;
        }));

      it('leases', () =>
        compare(async (session) => {
          const granted = /lease ([0-9a-f]+) granted/;
          await session.capture('L1', granted, ['lease', 'grant', '600']);
          await session.capture('L2', granted, ['lease', 'grant', '1']);
          await session.run(['put', 'l1', 'x', '--lease', '<L1>']);
          await session.run(['lease', 'timetolive', '<L1>', '--keys']);
          await session.run(['put', 'l2', 'x', '--lease', '<L1>']);
          await session.run(['get', 'l1', '-w', 'json']);
          await session.run(['lease', 'timetolive', '<L1>']);
          await session.run(['lease', 'timetolive', '7777']);
          await session.run(['lease', 'keep-alive', '--once', '<L1>']);
          await session.run(['lease', 'keep-alive', '--once', '7777']);
          await session.run(['lease', 'revoke', '<L2>']);
          await session.run(['lease', 'revoke', '<L2>']);
          await session.run(['lease', 'list']);
          await session.run(['lease', 'revoke', '<L1>', '-w', 'json']);
          await session.run(['get', '--prefix', 'l', '-w', 'json']);
          await session.run(['lease', 'grant', '9000000001']);
        }));

      it('locks, one holder after the other', () =>
        compare(async (session) => {
          const free = await session.start(['lock', 'job'], 1);
          const waiting = session.background([
            'lock',
            'job',
            '--',
            'sh',
            '-c',
            'echo $ETCD_LOCK_REV',
          ]);
          const count = ['get', '--prefix', 'job', '--keys-only'];
          while ((await session.query(count)).split('job/').length < 3);
          await free();
          await waiting();
          await session.run(['get', '--prefix', 'job']);
          await session.run(['lock', 'job', 'false']);
        }));

      it('elections', () =>
        compare(async (session) => {
          const resign = await session.start(['elect', 'boss', 'first'], 2);
          await session.watch(['elect', '-l', 'boss'], 2);
          await resign();
        }));

      it('compaction', () =>
        compare(async (session) => {
          const { revision } = JSON.parse(
            await session.run(['put', 'c', '1', '-w', 'json']),
          ).header;
          await session.run(['put', 'c', '2']);
          await session.run(['compact', String(revision)]);
          await session.run(['compact', String(revision)]);
          await session.run(['compact', '100000']);
          await session.run(['compact', '0']);
          await session.run(['compact', '--physical', String(revision + 1)]);
          await session.run(['get', 'c', '--rev', String(revision)]);
          await session.run(['get', 'c', '--rev', String(revision + 1), '-w', 'json']);
          await session.run(['watch', 'c', '--rev', String(revision)]);
        }));

      it('what operators ask', () =>
        commands('endpoint health', 'alarm list', 'alarm disarm', 'defrag', 'auth disable'));
    },
  );
});

it('names the clients it ran', () => {
  expect(clients.map((path) => basename(path)).every((name) => name.startsWith('etcdctl'))).toBe(
    true,
  );
});
