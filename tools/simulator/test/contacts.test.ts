import type { MemberReplica } from '@lockstep/replica';
import { describe, expect, it } from 'vitest';
import { Contacts } from '../src/invariants/contacts.ts';
import type { SimNode } from '../src/node.ts';
import type { Settings } from '../src/settings.ts';
import { World } from '../src/world.ts';

const TICK_US = 50_000;
const settings = { electionMs: 500, timerGranularityMs: 0 } as Settings;

/** Member 1 leads 1, 2 and 3 for so many ticks; `before` runs before each. */
function lead(ticks: number, before: (contacts: Contacts, world: World) => void): World {
  const world = new World(1);
  const contacts = new Contacts(world, settings);
  const configuration = { voters: [1, 2, 3], votersOutgoing: [] };
  const raft = { role: 'leader', term: 1, status: () => ({ configuration }) };
  const replica = { raft } as unknown as MemberReplica;
  for (let tick = 0; tick < ticks; tick++) {
    world.nowUs += TICK_US;
    before(contacts, world);
    contacts.touched({ id: 1 } as SimNode, replica);
  }
  return world;
}

describe('CheckQuorum', () => {
  it('is broken by a leader that hears nobody for two election timeouts of a slow clock', () => {
    expect(lead(30, () => {}).violation).toBeUndefined();
    expect(lead(60, () => {}).violation?.invariant).toBe('CheckQuorum');
  });

  it('is kept by a leader that hears one of the two others', () => {
    expect(lead(200, (contacts) => contacts.heard(1, 3)).violation).toBeUndefined();
  });

  it('does not count the time for which a leader stands still', () => {
    const paused = lead(15, (_contacts, world) => {
      world.nowUs += 1_000_000;
    });
    expect(paused.violation).toBeUndefined();
  });
});
