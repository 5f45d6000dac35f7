// Writes a history of a perfect store, for measuring the checker:
//   node --conditions=@lockstep/source --import tsx bench/million.ts FILE [operations]
import { type Operation, Recorder } from '../src/index.ts';

const [path = 'million.ndjson', count = '1000000'] = process.argv.slice(2);
const CLIENTS = 60;
const KEYS = 200;

let seed = 1;
const random = (below: number): number => {
  seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
  return (seed >>> 8) % below;
};

const recorder = new Recorder(path, 'generated');
const held = new Map<string, { value: string; mod: number }>();
let revision = 1;
for (let i = 0; i < Number(count); i++) {
  // Client by client in turn; each operation takes effect at its turn and is under way around it.
  const turn = 10_000 * (i + CLIENTS);
  const [before, after] = [random(9000 * (CLIENTS >> 1)), random(9000 * (CLIENTS >> 1))];
  const door = (['etcd', 'zookeeper', 'redis'] as const)[i % 3] ?? 'etcd';
  const key = `k${random(KEYS)}`;
  const base = { client: `c${i % CLIENTS}`, door, key, call: turn - before, return: turn + after };
  const own = held.get(`${door} ${key}`);
  if (random(2) === 0) {
    const value = `v${i}`;
    revision++;
    held.set(`${door} ${key}`, { value, mod: revision });
    recorder.record({ ...base, op: 'write', outcome: 'ok', value, revision } as Operation);
  } else {
    const seen = own === undefined ? { result: null } : { result: own.value, mod: own.mod };
    // As the doors tell it: Redis no state, ZooKeeper only what it shows.
    const state = door === 'etcd' ? { revision } : {};
    recorder.record({ ...base, op: 'read', outcome: 'ok', ...seen, ...state } as Operation);
  }
}
recorder.close();
