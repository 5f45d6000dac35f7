import type { Medium } from './atlas.ts';
import type { Battlefield, Strike } from './nemesis.ts';

/** Disks that are slow, full, lying or rotten. False: the fault is of another kind. */
export function strikeDisk(field: Battlefield, strike: Strike): boolean {
  const { fault, node } = strike;
  const { kind, forMs, amount } = fault;
  const untilUs = field.world.nowUs + forMs * 1000;
  switch (kind) {
    case 'slow disk':
      node.disk.speed.slowUntilUs = untilUs;
      return true;
    case 'stuck disk':
      node.disk.speed.stuckUntilUs = untilUs;
      return true;
    case 'sync error':
    case 'write error':
    case 'read error':
      failing(field, strike);
      return true;
    case 'no space':
      node.mayStop = true;
      node.disk.limit(amount * 20_000);
      field.later(forMs, () => node.disk.limit(Number.POSITIVE_INFINITY));
      field.later(forMs + 2000, () => {
        if (node.stopped !== undefined) field.revive(node);
      });
      return true;
    case 'bit rot':
    case 'bit rot while running':
      rot(field, strike, kind === 'bit rot');
      return true;
    case 'misdirected reads':
    case 'stale reads':
      misread(field, strike, kind === 'stale reads');
      return true;
    default:
      return false;
  }
}

/** The next call of that kind fails: a member answers by stopping itself. */
function failing(field: Battlefield, { fault, node }: Strike): void {
  const { kind, forMs, amount } = fault;
  if (!node.life.alive) return;
  node.mayStop = true;
  node.disk.failNext(kind === 'sync error' ? 'sync' : kind === 'read error' ? 'read' : 'write');
  field.later(forMs + 500, () => field.down(node, amount < 0.5, forMs));
}

/** Damage that would take the last good copy of something is not done (reference §4.3). */
function rot(field: Battlefield, { fault, node, stream }: Strike, atRest: boolean): void {
  const medium: Medium = stream.chance(0.5) ? 'log' : 'image';
  const victim = field.atlas.mayDamage(node, medium)
    ? node
    : field.nodes.find((each) => field.atlas.mayDamage(each, medium));
  if (victim === undefined || field.membership.hasShrunk || victim.retired) return;
  if (atRest) victim.crash(true);
  if (victim.disk.rot(medium)) {
    field.world.trace(() => `n${victim.id}: its ${medium} rots`);
    victim.damaged = true;
    // Found while it runs, it stops the member; found at a start, it must be repaired.
    if (victim.life.alive) victim.mayStop = true;
  }
  if (atRest) field.later(fault.forMs, () => field.revive(victim));
  else field.later(fault.forMs + 1000, () => field.down(victim, true, fault.forMs));
}

/** Reads of the running member's log give bytes of another place, or of another time. */
function misread(field: Battlefield, { fault, node }: Strike, isStale: boolean): void {
  // One that is still opening may find its log gone by it: that is bit rot's subject.
  if (node.replica === undefined || field.nodes.length < 3) return;
  node.mayStop = true;
  node.disk.misread(isStale, field.world.nowUs + fault.forMs * 1000);
  field.later(fault.forMs + 500, () => {
    if (node.stopped !== undefined) field.revive(node);
  });
}
