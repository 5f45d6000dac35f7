import { encodeSetOption } from '@lockstep/state-machine';
import { expect, it } from 'vitest';
import { World } from './test-world.ts';

/** A cluster of three led by somebody, in which the option prefers the others in that order. */
function preferring(order: (others: readonly string[]) => readonly string[]) {
  const world = new World();
  const leader = world.elect();
  const { replica } = leader;
  world.time.until('the option may be set', () => replica.state.featureLevel >= 2);
  const others = [1, 2, 3].filter((other) => other !== leader.id).map((other) => `n${other}`);
  replica.submit(encodeSetOption('preferred-leaders', order(others).join(', ')));
  leader.write('w');
  world.time.until('it is everywhere', () => world.members.every((member) => member.has('w')));
  return { world, leader };
}

it.each([0, 1])('a leader that stops hands over to the member most preferred, turn %i', (turn) => {
  const { world, leader } = preferring((others) => (turn === 0 ? others : [...others].reverse()));
  const heir = world.followers()[turn]!;
  leader.replica.close(() => {});
  world.time.until('another leads', () => heir.replica.status().role === 'leader');
});

it.each([0, 1])('of those that a dead leader leaves the preferred one follows, turn %i', (turn) => {
  const { world, leader } = preferring((others) => (turn === 0 ? others : [...others].reverse()));
  const heir = world.followers()[turn]!;
  world.kill(leader);
  expect(world.elect()).toBe(heir);
});

it('a member that nobody prefers leads when the preferred ones are gone', () => {
  const { world, leader } = preferring((others) => others.slice(0, 1));
  const [preferred, other] = world.followers();
  world.kill(preferred!);
  world.time.advance(10);
  leader.replica.close(() => {});
  world.time.until('the other leads', () => other!.replica.status().role === 'leader');
});
