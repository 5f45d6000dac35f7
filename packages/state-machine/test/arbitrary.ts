import { EntryKind, LeaseKind } from '@lockstep/model';
import fc from 'fast-check';
import type { Driver } from './driver.ts';
import { command, type Step } from './toy.ts';

/** Random entries over few keys, so that they meet. */

const key = fc.constantFrom('a', 'b', 'c', 'd', 'e');
const space = fc.constantFrom('store' as const, 'plain' as const, 'tree' as const);
const clearable = fc.constantFrom('plain' as const, 'tree' as const);
const value = fc.constantFrom('x', 'y', 'longer value');
const owner = fc.constantFrom('ann', 'ben', 'cat');
const px = fc.constantFrom(5, 50, 500);
const wait = fc.constantFrom(0, 20, 200);
const kind = fc.constantFrom(LeaseKind.Etcd, LeaseKind.ZooKeeper, LeaseKind.RedisConnection);
const id = fc.integer({ min: 1, max: 3 });

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('put' as const), in: space, key, value }) },
  fc.record({ do: fc.constant('put' as const), in: space, key, value, px }),
  fc.record({ do: fc.constant('put' as const), in: space, key, value, lease: id }),
  fc.record({ do: fc.constant('touch' as const), in: space, key, px }),
  { weight: 3, arbitrary: fc.record({ do: fc.constant('delete' as const), in: space, key }) },
  fc.record({
    do: fc.constant('delete-range' as const),
    in: fc.constantFrom('store' as const, 'tree' as const),
    from: key,
    to: key,
  }),
  fc.record({ do: fc.constant('clear' as const), in: clearable }),
  fc.record({ do: fc.constant('compact' as const), at: fc.integer({ min: 1, max: 60 }) }),
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('grant' as const),
      kind,
      id,
      ttl: fc.constantFrom(30, 300),
    }),
  },
  fc.record({ do: fc.constantFrom('revoke' as const, 'attach' as const), kind, id }),
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('acquire' as const), name: key, owner, px, wait }),
  },
  fc.record({ do: fc.constantFrom('release' as const, 'cancel' as const), name: key, owner }),
  fc.record({ do: fc.constant('extend' as const), name: key, owner, px }),
  { weight: 2, arbitrary: fc.record({ do: fc.constant('pop' as const), key, wait }) },
  fc.record({
    do: fc.constant('fence' as const),
    resource: key,
    token: fc.integer({ min: 1, max: 50 }),
  }),
  fc.record({ do: fc.constant('unfence' as const), resource: key }),
  { weight: 1, arbitrary: fc.constant({ do: 'spend' as const, steps: 2_000_000 }) },
);

const steps = fc.array(step, { minLength: 1, maxLength: 4 });

export interface Turn {
  readonly afterMs: number;
  readonly elected: boolean;
  readonly renew: readonly number[];
  readonly commands: readonly (readonly Step[])[];
  /** A member that says hello with its next incarnation; 0 none. */
  readonly hello: number;
  readonly reload: boolean;
}

export const turn: fc.Arbitrary<Turn> = fc.record({
  afterMs: fc.constantFrom(0, 0, 1, 10, 100, 1000),
  elected: fc.constantFrom(false, false, false, true),
  renew: fc.subarray([1, 2, 3]),
  commands: fc.array(steps, { maxLength: 4 }),
  hello: fc.constantFrom(0, 0, 0, 2, 3),
  reload: fc.constantFrom(false, false, true),
});

/** A put may name a lease only by a handle that lives: ids stand for positions in the list. */
function resolve(driver: Driver, list: readonly Step[]): Step[] {
  const { machine } = driver;
  return list.map((one) => {
    if (one.do !== 'put' || one.lease === undefined) return one;
    const live = [...machine.leases(LeaseKind.Etcd), ...machine.leases(LeaseKind.ZooKeeper)];
    const lease = live[one.lease % Math.max(live.length, 1)];
    if (lease === undefined || list.some((other) => other.do === 'revoke')) {
      return { do: 'put', in: one.in, key: one.key, value: one.value };
    }
    return { ...one, lease: lease.handle };
  });
}

/** Applies a turn as one entry per command, so that leases named by it cannot end before it. */
export function play(driver: Driver, incarnations: number[], one: Turn): void {
  driver.time += one.afterMs;
  driver.entry({
    kind: one.elected ? EntryKind.Elected : EntryKind.Commands,
    renewals: [{ origin: 1, incarnation: 1, ticket: 1, leases: one.renew }],
  });
  while (driver.machine.expiryPending) driver.entry({});
  if (one.hello !== 0) {
    const next = (incarnations[one.hello] ?? 0) + 1;
    incarnations[one.hello] = next;
    driver.hello(one.hello, next);
  }
  one.commands.forEach((list, at) => {
    const member = at % 2 === 0 ? 0 : 2;
    const resolved = resolve(driver, list);
    if (member === 0 || incarnations[member] === undefined) driver.apply(command(...resolved));
    else driver.doAs(member, incarnations[member], ...resolved);
  });
}
