import type { Battlefield, Strike } from './nemesis.ts';

/** Changes of membership and of leadership. False: the fault is of another kind. */
export function strikeMembership(field: Battlefield, { fault, node, stream }: Strike): boolean {
  const { kind, forMs, other } = fault;
  const { membership } = field;
  const handOver = (target: number | undefined): void => {
    if (node.isUp) node.replica?.transferLeadership(target, () => {});
  };
  switch (kind) {
    case 'transfer':
      handOver(stream.chance(0.5) ? other : undefined);
      return true;
    case 'transfers in a row':
      for (let i = 0; i < 5; i++) field.later((forMs * i) / 5, () => handOver(undefined));
      return true;
    case 'grow':
      membership.grow(forMs);
      return true;
    case 'shrink':
      membership.shrink(node, forMs);
      return true;
    case 'replace':
      membership.replace(node, forMs);
      return true;
    case 'demote':
      membership.demote(node, forMs);
      return true;
    case 'churn':
      // Several wishes at once: the leader gets to them as it can.
      membership.grow(forMs / 2);
      membership.shrink(node, forMs);
      membership.grow(forMs);
      return true;
    default:
      return false;
  }
}
