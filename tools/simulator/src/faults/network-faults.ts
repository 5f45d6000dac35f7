import type { MemberId } from '@lockstep/model';
import type { SimNode } from '../node.ts';
import type { Battlefield, Strike } from './nemesis.ts';

/** Partitions of all shapes, resets and bad weather. False: the fault is of another kind. */
export function strikeNetwork(field: Battlefield, { fault, node, stream }: Strike): boolean {
  const { kind, forMs, amount, other } = fault;
  const { wires } = field;
  const others = field.nodes.filter((each) => each !== node);
  const cut = (pairs: readonly Pair[]): void => cutFor(field, pairs, forMs);
  switch (kind) {
    case 'isolate':
      cut(others.flatMap(({ id }) => [oneWay(node.id, id), oneWay(id, node.id)]));
      return true;
    case 'one way':
      cut([oneWay(node.id, other)]);
      return true;
    case 'deaf':
      cut(others.map(({ id }) => oneWay(id, node.id)));
      return true;
    case 'mute':
      cut(others.map(({ id }) => oneWay(node.id, id)));
      return true;
    case 'halves':
      cut(between(field.nodes, () => stream.chance(0.5)));
      return true;
    case 'bridge':
      cut(between(others, (_one, at) => at % 2 === 0));
      return true;
    case 'ring':
      cut(beyondNeighbours(stream.shuffled(field.nodes)));
      return true;
    case 'flap':
      for (let i = 0; i < 6; i++) {
        const pairs = others.flatMap(({ id }) => [oneWay(node.id, id), oneWay(id, node.id)]);
        field.later((forMs * i) / 6, () => cutFor(field, pairs, (forMs / 12) * (0.5 + amount)));
      }
      return true;
    case 'swizzle':
      swizzle(field, stream.shuffled(field.nodes), forMs, (nodes) => stream.shuffled(nodes));
      return true;
    case 'reset':
      wires.reset(node.id, other);
      return true;
    case 'resets in a row':
      for (let i = 0; i < 6; i++) field.later((forMs * i) / 6, () => wires.reset(node.id, other));
      return true;
    default:
      return weather(field, kind, forMs, amount);
  }
}

function weather(field: Battlefield, kind: string, forMs: number, amount: number): boolean {
  const { wires } = field;
  const now = wires.weather;
  switch (kind) {
    case 'storm':
      now.meanUs = 100_000 * amount + 1000;
      break;
    case 'loss':
      now.lossShare = 0.01 + 0.3 * amount * amount;
      break;
    case 'ghosts':
      now.ghostShare = 0.01 + 0.2 * amount;
      break;
    case 'narrow':
      now.bytesPerMs = 20 + 2000 * amount * amount;
      break;
    case 'snapshot damage':
      now.damageShare = 0.1 + 0.5 * amount;
      break;
    default:
      return false;
  }
  field.later(forMs, () => wires.clearUp(kind));
  return true;
}

interface Pair {
  readonly from: MemberId;
  readonly to: MemberId;
}

const oneWay = (from: MemberId, to: MemberId): Pair => ({ from, to });

function cutFor(field: Battlefield, pairs: readonly Pair[], forMs: number): void {
  for (const { from, to } of pairs) field.wires.clog(from, to);
  field.later(forMs, () => {
    for (const { from, to } of pairs) field.wires.unclog(from, to);
  });
}

/** Both directions between those of one side and all others. */
function between(
  nodes: readonly SimNode[],
  isLeft: (node: SimNode, at: number) => boolean,
): Pair[] {
  const left = nodes.filter(isLeft);
  const right = nodes.filter((node) => !left.includes(node));
  return left.flatMap(({ id: a }) => right.flatMap(({ id: b }) => [oneWay(a, b), oneWay(b, a)]));
}

/** Each hears its two neighbours on a circle only. */
function beyondNeighbours(circle: readonly SimNode[]): Pair[] {
  const pairs: Pair[] = [];
  for (const [i, { id: a }] of circle.entries()) {
    for (const [j, { id: b }] of circle.entries()) {
      const distance = Math.abs(i - j);
      if (distance > 1 && distance < circle.length - 1) pairs.push(oneWay(a, b));
    }
  }
  return pairs;
}

/** Swizzle-clog: members are cut off one after another, and come back in another order. */
function swizzle(
  field: Battlefield,
  nodes: readonly SimNode[],
  forMs: number,
  shuffled: (nodes: readonly SimNode[]) => SimNode[],
): void {
  const victims = nodes.slice(0, Math.max(1, Math.ceil(nodes.length / 2)));
  const pairsOf = (node: SimNode): Pair[] =>
    field.nodes
      .filter((each) => each !== node)
      .flatMap(({ id }) => [oneWay(node.id, id), oneWay(id, node.id)]);
  const cuts = new Map(victims.map((node) => [node, pairsOf(node)]));
  const stepMs = forMs / (2 * victims.length);
  for (const [i, node] of victims.entries()) {
    field.later(i * stepMs, () => {
      for (const { from, to } of cuts.get(node)!) field.wires.clog(from, to);
    });
  }
  for (const [i, node] of shuffled(victims).entries()) {
    field.later((victims.length + i) * stepMs, () => {
      for (const { from, to } of cuts.get(node)!) field.wires.unclog(from, to);
    });
  }
}
