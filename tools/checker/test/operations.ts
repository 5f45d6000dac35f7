import type { Operation } from '../src/index.ts';

let clients = 0;

type Loose<T> = T extends Operation
  ? Omit<T, 'client' | 'door' | 'outcome' | 'call' | 'return'> &
      Partial<Pick<T, 'client' | 'door' | 'outcome'>>
  : never;

/** An operation at the etcd door, answered, by a client of its own, from `call` to `end` in ms. */
export function op(call: number, end: number, rest: Loose<Operation>): Operation {
  const base = { client: `client-${++clients}`, door: 'etcd', outcome: 'ok' };
  return { ...base, call: call * 1e6, return: end * 1e6, ...rest } as Operation;
}
