import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ETCD, type EtcdTarget, startOurs, startReference } from './etcd-targets.ts';

/**
 * Random requests, the same to real etcd and to us, one after the other: every answer and, at the
 * end, the whole history must be equal. A failing run prints its seed; LOCKSTEP_SEED replays it.
 */

const required = process.env.CI !== undefined;
const base64 = (text: string) => Buffer.from(text).toString('base64');

/** Small seeded generator (mulberry32). */
class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  below(limit: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % limit;
  }

  one<T>(values: readonly T[]): T {
    return values[this.below(values.length)]!;
  }

  chance(percent: number): boolean {
    return this.below(100) < percent;
  }

  list<T>(longest: number, make: () => T): T[] {
    return Array.from({ length: this.below(longest + 1) }, make);
  }
}

const KEYS = ['a', 'b', 'ba', 'bb', 'c', 'd\0', 'é'];
const VALUES = ['', '1', '2', 'long value'];
const ENDS = ['', '', 'b', 'c', 'z', '\0'];

/** Requests that make sense often enough and nonsense sometimes. */
class Requests {
  readonly #dice: Dice;
  revision = 1;
  /** A put that keeps the value of a key which an open-ended delete before it took away in the
   * same transaction ends etcd's process, so no request has both. */
  #openEnds = true;

  constructor(dice: Dice) {
    this.#dice = dice;
  }

  #key(): string {
    return base64(this.#dice.chance(2) ? '' : this.#dice.one(KEYS));
  }

  #range(): { key: string; range_end: string } {
    const dice = this.#dice;
    const ends = this.#openEnds ? ENDS : ENDS.slice(0, -1);
    if (this.#openEnds && dice.chance(10)) return { key: base64('\0'), range_end: base64('\0') };
    return { key: this.#key(), range_end: base64(dice.one(ends)) };
  }

  #someRevision(): string {
    return String(Math.max(0, this.revision - this.#dice.below(12) + 1));
  }

  range(): object {
    const dice = this.#dice;
    return {
      ...this.#range(),
      ...(dice.chance(40) && { limit: dice.below(4) }),
      ...(dice.chance(25) && { revision: this.#someRevision() }),
      // Order among equals is unspecified, so sorts are by what differs.
      ...(dice.chance(40) && {
        sort_order: dice.one(['ASCEND', 'DESCEND']),
        sort_target: 'KEY',
      }),
      ...(dice.chance(10) && { keys_only: true }),
      ...(dice.chance(10) && { count_only: true }),
      ...(dice.chance(10) && { min_mod_revision: this.#someRevision() }),
      ...(dice.chance(10) && { max_mod_revision: this.#someRevision() }),
      ...(dice.chance(10) && { min_create_revision: this.#someRevision() }),
      ...(dice.chance(10) && { max_create_revision: this.#someRevision() }),
    };
  }

  put(keeps = true): object {
    const dice = this.#dice;
    return {
      key: this.#key(),
      value: base64(dice.one(VALUES)),
      ...(dice.chance(30) && { prev_kv: true }),
      ...(dice.chance(20) && { lease: String(1 + dice.below(4)) }),
      ...(keeps && dice.chance(10) && { ignore_value: true, value: base64(dice.one(['', '1'])) }),
      ...(keeps && dice.chance(10) && { ignore_lease: true }),
    };
  }

  delete(): object {
    return { ...this.#range(), ...(this.#dice.chance(50) && { prev_kv: true }) };
  }

  #compare(): object {
    const dice = this.#dice;
    const target = dice.one(['VERSION', 'CREATE', 'MOD', 'VALUE', 'LEASE']);
    const operand = {
      VERSION: { version: String(dice.below(4)) },
      CREATE: { create_revision: dice.chance(50) ? '0' : this.#someRevision() },
      MOD: { mod_revision: dice.chance(50) ? '0' : this.#someRevision() },
      VALUE: { value: base64(dice.one(VALUES)) },
      LEASE: { lease: String(dice.below(5)) },
    }[target];
    const result = dice.one(['EQUAL', 'GREATER', 'LESS', 'NOT_EQUAL']);
    const where = dice.chance(30) ? this.#range() : { key: this.#key() };
    return { target, result, ...where, ...(dice.chance(95) && operand) };
  }

  txn(depth = 0): object {
    const dice = this.#dice;
    const operation = (): object => {
      const kind = dice.below(depth < 2 ? 12 : 10);
      if (kind < 4) return { request_put: this.put(!this.#openEnds) };
      if (kind < 8) return { request_range: this.range() };
      if (kind < 10) return { request_delete_range: this.delete() };
      return { request_txn: this.txn(depth + 1) };
    };
    return {
      compare: dice.list(2, () => this.#compare()),
      success: dice.list(3, operation),
      failure: dice.list(3, operation),
    };
  }

  next(): [path: string, body: object] {
    const dice = this.#dice;
    const roll = dice.below(100);
    this.#openEnds = dice.chance(50);
    if (roll < 25) return ['/v3/kv/put', this.put()];
    if (roll < 45) return ['/v3/kv/range', this.range()];
    if (roll < 53) return ['/v3/kv/deleterange', this.delete()];
    if (roll < 90) return ['/v3/kv/txn', this.txn()];
    if (roll < 93) return ['/v3/lease/grant', { TTL: '3600', ID: String(1 + dice.below(4)) }];
    if (roll < 96) return ['/v3/lease/revoke', { ID: String(1 + dice.below(4)) }];
    if (roll < 97) return ['/v3/lease/leases', {}];
    return ['/v3/kv/compaction', { revision: String(this.revision - dice.below(20)) }];
  }
}

const masked = (text: string) =>
  text.replace(/"(cluster_id|member_id|raft_term)":"\d+"/g, '"$1":"<n>"');

async function post(target: EtcdTarget, path: string, body: object): Promise<string> {
  const url = `http://${target.endpoints.split(',')[0]}${path}`;
  const response = await fetch(url, { method: 'POST', body: JSON.stringify(body) });
  // A failed precondition is 412 at a 3.4 gateway and 400 since.
  const status = response.status === 412 ? 400 : response.status;
  return `${status} ${masked((await response.text()).trim())}`;
}

/** Events of the whole store from a revision on, until the one that ends the run. */
async function history(target: EtcdTarget, revision: number, last: number): Promise<string[]> {
  const url = `http://${target.endpoints.split(',')[0]}/v3/watch`;
  const everything = { key: base64('\0'), range_end: base64('\0'), prev_kv: true };
  const body = JSON.stringify({ create_request: { ...everything, start_revision: revision } });
  const response = await fetch(url, { method: 'POST', body });
  const events: string[] = [];
  let text = '';
  for await (const bytes of response.body!) {
    text += Buffer.from(bytes).toString();
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n')) {
      const { result } = JSON.parse(text.slice(0, end));
      text = text.slice(end + 1);
      for (const event of result.events ?? []) {
        events.push(JSON.stringify(event));
        if (event.kv.mod_revision === String(last)) return events;
      }
    }
  }
  return events;
}

describe.runIf(ETCD !== undefined || required)('random requests', () => {
  let targets: EtcdTarget[] = [];

  beforeAll(async () => {
    targets = await Promise.all([startReference(), startOurs()]);
  });
  afterAll(() => Promise.all(targets.map((target) => target.close())));

  it('get the same answers from etcd and from us, and leave the same history', async () => {
    const seed = Number(process.env.LOCKSTEP_SEED ?? 4);
    const count = Number(process.env.LOCKSTEP_REQUESTS ?? 1500);
    const requests = new Requests(new Dice(seed));
    let compacted = 1;
    for (let at = 0; at < count; at++) {
      const [path, body] = requests.next();
      const [reference, ours] = await Promise.all(targets.map((one) => post(one, path, body)));
      expect(ours, `seed ${seed}, request ${at}: ${path} ${JSON.stringify(body)}`).toBe(reference);
      const revision = Number(/"header":{[^}]*"revision":"(\d+)"/.exec(reference!)?.[1] ?? 0);
      if (revision > 0) requests.revision = revision;
      if (path.endsWith('compaction') && reference!.startsWith('200')) {
        compacted = Number((body as { revision: string }).revision);
      }
    }
    const end = ['/v3/kv/put', { key: base64('the end') }] as const;
    const [answer] = await Promise.all(targets.map((one) => post(one, ...end)));
    const last = Number(/"revision":"(\d+)"/.exec(answer!)![1]);
    const [reference, ours] = await Promise.all(
      // A delete at the compacted revision itself is missing from etcd 3.4's history.
      targets.map((one) => history(one, compacted + 1, last)),
    );
    expect(ours, `seed ${seed}`).toEqual(reference);
  });
});
