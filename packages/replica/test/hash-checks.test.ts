import { describe, expect, it } from 'vitest';
import { divergedValue, divergence } from './diverging-extension.ts';
import { type TestMember, World } from './test-world.ts';

const value = (member: TestMember): unknown => divergedValue(member.replica.state);

/** Runs the procedure and gives the member whose state is the odd one. */
function diverge(members: number, wrong: number): { world: World; odd: TestMember } {
  const { extension, command } = divergence(wrong);
  const world = new World({ members, extensions: [extension], tuning: { hashCheckEntries: 5 } });
  const leader = world.elect();
  leader.replica.submit(command);
  world.time.until('all ran it', () => world.members.every((m) => value(m) !== undefined));
  const odd = world.members.find((member) => value(member) === 'wrong')!;
  return { world, odd };
}

function writeOn(world: World): void {
  for (let i = 0; i < 30; i++) {
    const running = world.members.find((member) => member.fatal === undefined)!;
    running.write(`w${i}`);
    world.time.advance(100);
  }
}

describe('state hashes', () => {
  it.each([1, 2, 3])('stop the one member of three that differs, leader or not (%i)', (wrong) => {
    const { world, odd } = diverge(3, wrong);
    if (wrong === 1) expect(odd).toBe(world.leader);
    writeOn(world);
    expect(odd.fatal?.message).toMatch(
      /state hash at index \d+ is \w{16}, the majority's is \w{16}/,
    );
    const others = world.members.filter((member) => member !== odd);
    expect(others.map(({ fatal }) => fatal)).toEqual([undefined, undefined]);
    expect(others.some(({ replica }) => replica.status().role === 'leader')).toBe(true);
    expect(others.every((member) => member.has('w29'))).toBe(true);
  });

  it('stop nobody when no majority agrees, which is said', () => {
    const { world } = diverge(2, 1);
    writeOn(world);
    expect(world.members.map(({ fatal }) => fatal)).toEqual([undefined, undefined]);
    expect(world.leader!.marks).toContain('state hashes in dispute');
  });
});
