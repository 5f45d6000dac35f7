import { LeaseKind } from '@lockstep/model';
import { REDIS } from './invariants/registers.ts';
import type { SimNode } from './node.ts';

const KINDS = Object.values(LeaseKind).filter((kind) => kind !== LeaseKind.Member);

/** What a member still holds that must end by itself. */
export function timedOf({ replica }: SimNode): string[] {
  const found: string[] = [];
  if (replica === undefined) return found;
  for (const kind of KINDS) {
    for (const { id, deadline } of replica.state.leases(kind)) {
      found.push(`lease ${kind}:${id} till ${deadline}`);
    }
  }
  replica.state.scan(REDIS, (key, { deadline }) => {
    if (deadline > 0) found.push(`${key} till ${deadline}`);
    return true;
  });
  return found;
}
