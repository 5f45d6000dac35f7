import type { SimNode } from '../node.ts';
import type { Battlefield, Strike } from './nemesis.ts';

/** Ends, starts and stalls of processes and machines. False: the fault is of another kind. */
export function strikeProcess(field: Battlefield, { fault, node, stream }: Strike): boolean {
  const { kind, forMs, amount } = fault;
  switch (kind) {
    case 'power loss':
    case 'kill':
      field.down(node, kind === 'power loss', forMs);
      return true;
    case 'power loss everywhere':
      for (const each of field.nodes) field.down(each, true, forMs * (0.5 + stream.fraction()));
      return true;
    case 'power loss at a disk call':
      armed(field, node, 1 + Math.floor(amount * 40), forMs);
      return true;
    case 'power loss in recovery':
      recovering(field, node, forMs, stream.between(1, 3), () => stream.between(1, 30));
      return true;
    case 'kills in a row':
      for (let i = 0; i < 4; i++) {
        field.later((forMs * i) / 4, () => field.down(node, i === 2, forMs * amount * 0.2));
      }
      return true;
    case 'pause':
      node.pause(forMs * 1000);
      return true;
    case 'orderly stop':
      node.close();
      node.onEnd(() => field.later(forMs, () => field.revive(node)));
      return true;
    case 'wipe':
      field.membership.wipe(node, forMs);
      return true;
    default:
      return false;
  }
}

/** The power fails a few disk calls from now; when nothing is called, soon. */
function armed(field: Battlefield, node: SimNode, calls: number, forMs: number): void {
  if (!node.life.alive) return;
  const { life } = node;
  node.disk.arm(calls);
  field.later(2000, () => {
    if (node.life === life) field.down(node, true, forMs);
    else if (!node.life.alive) field.revive(node);
  });
  node.onEnd(() => field.later(forMs, () => field.revive(node)));
}

/** The power fails, and again while the member recovers, so many times. */
function recovering(
  field: Battlefield,
  node: SimNode,
  forMs: number,
  times: number,
  calls: () => number,
): void {
  node.crash(true);
  field.later(forMs, () => {
    field.revive(node);
    if (times > 0 && node.life.alive) {
      node.disk.arm(calls());
      node.onEnd(() => field.later(0, () => recovering(field, node, forMs, times - 1, calls)));
    }
  });
}
