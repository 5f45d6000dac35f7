import { execFile } from 'node:child_process';
import { basename } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Cluster } from '../support/cluster.ts';
import { ETCD, type EtcdTarget, etcdctls, startReference } from './etcd-targets.ts';

/**
 * `etcdctl member …` against one member of real etcd and one of ours: what it prints and how it
 * exits is equal, save for ids and addresses. What needs several members is in test/system.
 */

const clients = etcdctls();
const available = ETCD !== undefined && clients.length > 0;

/** One etcdctl at one endpoint; ids that it has printed can be given by number. */
class MemberSession {
  readonly #etcdctl: string;
  readonly #endpoint: string;
  readonly #ids: string[] = [];
  /** Peer address of the first member listed. */
  #peer = '';

  constructor(etcdctl: string, endpoint: string) {
    this.#etcdctl = etcdctl;
    this.#endpoint = endpoint;
  }

  /** Words may hold `#1` for the first id seen, `#2` for the second … */
  async run(line: string): Promise<string> {
    const words = line
      .split(' ')
      .map((word) => word.replace(/^#(\d)$/, (_, n) => this.#id(n)))
      .map((word) => word.replace('<peer>', this.#peer));
    const args = [`--endpoints=${this.#endpoint}`, 'member', ...words];
    const env = { ...process.env, ETCDCTL_API: '3' };
    const [code, stdout, stderr] = await new Promise<[number, string, string]>((resolve) => {
      execFile(this.#etcdctl, args, { env, timeout: 20_000 }, (error, out, err) =>
        resolve([error === null ? 0 : Number(error.code), out, err]),
      );
    });
    this.#peer ||= /127\.0\.0\.1:\d+/.exec(stdout)?.[0] ?? '';
    const errors = stderr.split('\n').filter((text) => text.startsWith('Error'));
    return `$ ${line}\n${this.#masked([stdout, ...errors].join('\n'))}[${code}]`;
  }

  #id(number: string): string {
    return this.#ids[Number(number) - 1] ?? 'none';
  }

  #masked(text: string): string {
    return (
      text
        .replace(/\b[0-9a-f]{13,16}\b/g, (id) => {
          if (!this.#ids.includes(id)) this.#ids.push(id);
          return '<id>';
        })
        .replace(/127\.0\.0\.1:\d+/g, '<address>')
        .replace(/[-+]{10,}/g, '---')
        .replace(/ *\| */g, ' | ')
        .replace(/ {2,}/g, ' ')
        // In the order of the ids, which are random.
        .replace('n2=http://<address>,n1=', 'n1=http://<address>,n2=')
        .split('\n')
        .sort()
        .join('\n')
    );
  }
}

describe.runIf(available || process.env.CI !== undefined)('etcdctl member', () => {
  describe.each(clients)('%s', (etcdctl) => {
    let reference: EtcdTarget;
    let ours: Cluster;
    beforeAll(async () => {
      [reference, ours] = await Promise.all([startReference(), Cluster.start(1)]);
    });
    afterAll(async () => {
      await reference?.close();
      await ours?.stop();
    });

    it(`says the same of both (${basename(etcdctl)})`, async () => {
      const endpoint = `127.0.0.1:${ours.members[0]?.ports.etcd}`;
      const sessions = [reference.endpoints, endpoint].map((at) => new MemberSession(etcdctl, at));
      for (const line of [
        'list',
        'list -w table',
        'add n2 --learner --peer-urls=http://127.0.0.1:9',
        'add n3 --learner --peer-urls=http://127.0.0.1:10',
        'add n3 --peer-urls=http://<peer>',
        'add n3 --peer-urls=127.0.0.1:10',
        'add n3 --peer-urls=http://127.0.0.1:10/path',
        'list',
        'promote #2',
        'promote #1',
        'promote 1234',
        'update #2 --peer-urls=http://127.0.0.1:11',
        'update 1234 --peer-urls=http://127.0.0.1:12',
        // No list here: etcd's update makes a voter of the learner (its issue 21694).
        'remove #2',
        'remove #2',
        'remove #1',
        'list',
      ]) {
        const [theirs, own] = await Promise.all(sessions.map((session) => session.run(line)));
        expect(own).toBe(theirs);
      }
    });
  });
});
