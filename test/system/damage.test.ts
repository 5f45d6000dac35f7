import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ImageDirectory, Network, Random } from '@lockstep/model';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { seededRandom } from '../../packages/replica/test/test-world.ts';
import { DamageCluster, type DamageMember, has, IDS, write } from '../support/damage-cluster.ts';
import { damageSomewhere } from '../support/random-damage.ts';
import { until } from '../support/until.ts';

const RUNS = process.env.LOCKSTEP_LONG === '1' ? 200 : 15;
const SEED = Number(process.env.LOCKSTEP_SEED ?? 1);
const tuning = { snapshotChunkBytes: 8192, imageSyncMs: 200, hashCheckEntries: 20 };
const root = mkdtempSync(join(tmpdir(), 'lockstep-damage-'));
const template = join(root, 'template');
const acknowledged: string[] = [];
/** What a refusal must say: what is wrong, or where. */
const CLEAR = /damaged|lost|cannot be used|newer software/;

async function writeAll(cluster: DamageCluster, names: readonly string[]): Promise<void> {
  for (const name of names) {
    // Long enough that the state fills several files and chunks.
    const text = `${name} ${'x'.repeat(1500)}`;
    const [replica] = cluster.running;
    expect(await write(replica!, text)).toBe(`new ${text}`);
    acknowledged.push(text);
  }
}

/** Nothing announces it; the members have timers of their own. */
function soon(what: string, condition: () => boolean, withinMs = 30_000): Promise<void> {
  return until(condition, withinMs, () => what);
}

async function elected(cluster: DamageCluster): Promise<void> {
  await soon('a leader is in contact', () => cluster.running.some((r) => r.inContact));
}

function names(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, i) => `${prefix}-${i}`);
}

/**
 * Data directories of three members, copied as they ran: half of the writes are in the images, the
 * other half in the logs only, and the last ones are not on member 3, which was cut off.
 */
beforeAll(async () => {
  const random = seededRandom(SEED);
  const first = new DamageCluster(join(root, 'first'), random, tuning);
  for (const id of IDS) await first.start(id);
  await elected(first);
  await writeAll(first, names('image', 30));
  await first.close();
  const second = new DamageCluster(first.root, random, {
    ...tuning,
    imageFlushMs: 1_000_000,
    imageFlushBytes: 1 << 30,
  });
  for (const id of IDS) await second.start(id);
  await elected(second);
  await writeAll(second, names('log', 50));
  await soon('all have them', () =>
    second.running.every((replica) => has(replica, acknowledged.at(-1)!)),
  );
  await second.stop(3);
  await elected(second);
  await writeAll(second, names('pair', 16));
  await soon('both have them', () =>
    second.running.every((replica) => has(replica, acknowledged.at(-1)!)),
  );
  mkdirSync(template);
  second.copyTo(template);
  await second.close();
}, 120_000);

afterAll(() => rmSync(root, { recursive: true, force: true }));

/** A fresh copy of the template in a directory of its own. */
function copy(random: Random): DamageCluster {
  const path = mkdtempSync(join(root, 'run-'));
  const source = new DamageCluster(template, random, tuning);
  source.copyTo(path);
  return new DamageCluster(path, random, tuning);
}

/** Everything acknowledged is on every member that runs, and nothing else differs. */
async function check(cluster: DamageCluster, what: string): Promise<void> {
  const missing = (): string[] =>
    cluster.running.flatMap((replica) =>
      acknowledged
        .filter((text) => !has(replica, text))
        .map((text) => `${text.slice(0, 8)} on ${replica.member}`),
    );
  await elected(cluster);
  await soon(`${what}: all is back`, () => missing().length === 0).catch((error) => {
    throw new Error(`${(error as Error).message}: ${missing().slice(0, 5).join(', ')}`);
  });
  const text = `after ${what}`;
  const [replica] = cluster.running;
  expect(await write(replica!, text), what).toBe(`new ${text}`);
  await soon(`${what}: it goes on`, () => cluster.running.every((r) => has(r, text)));
  const hashes = (): Set<string> => new Set(cluster.running.map((r) => r.state.stateHash()));
  await soon(`${what}: states are equal`, () => hashes().size === 1, 10_000);
}

class Score {
  readonly #title: string;
  readonly #counts = new Map<string, number>();

  constructor(title: string) {
    this.#title = title;
  }

  add(kind: string): void {
    this.#counts.set(kind, (this.#counts.get(kind) ?? 0) + 1);
  }

  print(): void {
    const counts = [...this.#counts].sort(([a], [b]) => (a < b ? -1 : 1));
    const text = counts.map(([kind, count]) => `${kind} ${count}`).join(', ');
    process.stdout.write(`${this.#title}, ${RUNS} damages of seed ${SEED}: ${text}\n`);
  }
}

async function clean(cluster: DamageCluster): Promise<void> {
  await cluster.close();
  rmSync(cluster.root, { recursive: true, force: true });
}

function judgeRefusal(member: DamageMember, what: string): string {
  expect(member.refusal, what).toMatch(CLEAR);
  return 'refused with a clear message';
}

describe('files damaged at random places', { timeout: 60_000 + RUNS * 20_000 }, () => {
  it('the log: repaired or refused, nothing lost, no vote before it is whole', async () => {
    const random = seededRandom(SEED);
    const score = new Score('log');
    for (let run = 0; run < RUNS; run++) {
      const cluster = copy(random);
      const id = 1 + (random.u32() % 2);
      const done = damageSomewhere(join(cluster.path(id), 'wal'), random);
      const what = `log run ${run}, member ${id}, ${done}`;
      const member = await cluster.start(id);
      // The one that was cut off: together they are a majority that must not lose what it lacks.
      await cluster.start(3);
      score.add(await judgeLog(cluster, member, what));
      await cluster.start(3 - id);
      if (member.refusal !== undefined) judgeRefusal(member, what);
      await check(cluster, what);
      await clean(cluster);
    }
    score.print();
  });

  it('the image: repaired or refused, nothing lost', async () => {
    const random = seededRandom(SEED + 1);
    const score = new Score('image');
    for (let run = 0; run < RUNS; run++) {
      const cluster = copy(random);
      const id = 1 + (random.u32() % 3);
      const done = damageSomewhere(join(cluster.path(id), 'images'), random);
      const what = `image run ${run}, member ${id}, ${done}`;
      const others = IDS.filter((other) => other !== id);
      const [member] = await Promise.all([id, ...others].map((each) => cluster.start(each)));
      await check(cluster, what);
      const isReplaced = member!.said.some((text) => text.includes('is set aside'));
      if (member!.refusal !== undefined) score.add(judgeRefusal(member!, what));
      else score.add(isReplaced ? 'fetched again' : 'not needed, or repaired by the log');
      await clean(cluster);
    }
    score.print();
  });

  it('a snapshot on its way: fetched again, nothing lost, also over a restart', async () => {
    const random = seededRandom(SEED + 2);
    const score = new Score('snapshot');
    for (let run = 0; run < RUNS; run++) {
      const cluster = copy(random);
      const id = 1 + (random.u32() % 3);
      rmSync(join(cluster.path(id), 'images'), { recursive: true, force: true });
      const hit = new SnapshotHit(cluster, id, random);
      const others = IDS.filter((other) => other !== id);
      await cluster.start(id, hit);
      await Promise.all(others.map((each) => cluster.start(each)));
      const what = `snapshot run ${run}, member ${id}`;
      await check(cluster, what);
      await cluster.stop(id);
      const again = await cluster.start(id);
      await check(cluster, `${what}, ${hit.done || 'not hit'}, restarted`);
      const isReplaced = again.said.some((text) => text.includes('is set aside'));
      if (hit.done === '') score.add('over before the hit');
      else score.add(isReplaced ? 'found at the restart, fetched again' : 'found at once');
      await clean(cluster);
    }
    score.print();
  });
});

/** What became of a damaged log, with only the member beside it that had been cut off. */
async function judgeLog(
  cluster: DamageCluster,
  member: DamageMember,
  what: string,
): Promise<string> {
  if (member.refusal !== undefined) return 'refused with a clear message';
  const { health, salvage } = member.logState!;
  expect(health, `${what}: rot is not taken for a torn write`).not.toBe('torn');
  if (health === 'clean') return 'hit what nobody reads';
  const isTrusted = member.firstHealth === 'ok';
  if (isTrusted) return 'repaired alone, from image and log';
  // It neither leads nor makes a leader: the other has not got everything.
  await new Promise((resolve) => setTimeout(resolve, 700));
  const { replica } = member;
  if (member.refusal === undefined && replica!.status().health === 'ok') {
    await soon(`${what}: the two have everything`, () =>
      cluster.running.every((each) => acknowledged.every((text) => has(each, text))),
    );
    return 'repaired with entries of one other member';
  }
  expect(
    cluster.running.some((each) => each.inContact),
    `${what}: nobody leads`,
  ).toBe(false);
  return salvage === undefined
    ? 'last records: no vote until caught up'
    : 'waits for a member that has the entries';
}

/** Damages one chunk of the stream, or the files of the image it is written to. */
class SnapshotHit {
  done = '';
  readonly #cluster: DamageCluster;
  readonly #id: number;
  readonly #random: Random;
  #countdown: number;

  constructor(cluster: DamageCluster, id: number, random: Random) {
    this.#cluster = cluster;
    this.#id = id;
    this.#random = random;
    this.#countdown = 1 + (random.u32() % 12);
  }

  readonly wrapNetwork = (network: Network): Network => {
    if (this.#random.u32() % 2 === 0) return network;
    const start = network.start.bind(network);
    network.start = (handler) =>
      start({
        linkUp: (link) => handler.linkUp(link),
        linkDown: (link) => handler.linkDown(link),
        frame: (link, frame, channel) => {
          if (channel !== 'bulk' || --this.#countdown !== 0) handler.frame(link, frame, channel);
          else {
            const bytes = Uint8Array.from(frame);
            const at = 24 + (this.#random.u32() % (bytes.length - 24));
            bytes[at]! ^= 1 << (this.#random.u32() % 8);
            this.done = `chunk flipped at ${at} of ${bytes.length}`;
            handler.frame(link, bytes, channel);
          }
        },
      });
    return network;
  };

  readonly wrapImages = (images: ImageDirectory): ImageDirectory => ({
    open: (name, create, done) =>
      images.open(name, create, (error, store) => {
        if (error === undefined && create) {
          const { write: writeBatch } = store;
          store.write = (changes, sync, written) => {
            const path = join(this.#cluster.path(this.#id), 'images', name);
            if (changes.length > 3 && --this.#countdown === 0) {
              this.done = damageSomewhere(path, this.#random);
            }
            writeBatch.call(store, changes, sync, written);
          };
        }
        done(error, store);
      }),
    remove: (name, done) => images.remove(name, done),
    rename: (from, to, done) => images.rename(from, to, done),
  });
}
