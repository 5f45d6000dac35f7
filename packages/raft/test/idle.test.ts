import { expect, test } from 'vitest';
import { append, entriesOf, heartbeat, SingleMember } from './single-member.ts';

/** A member in step has no work: `ready()` is not even asked for, so a turn costs a few compares. */

test('a follower in step that ticks has nothing ready', () => {
  const member = new SingleMember({ settings: { electionTicks: 1000 } });
  member.step(append({ entries: entriesOf([1, 1]), commit: 2 }));
  for (let tick = 0; tick < 900; tick++) {
    member.raft.tick();
    expect(member.raft.hasReady()).toBe(false);
  }
  // A heartbeat is answered by one message, and writes nothing.
  member.raft.step(heartbeat({ commit: 2 }));
  const { messages, ...rest } = member.raft.ready();
  expect(messages).toMatchObject([{ kind: 'heartbeat-response' }]);
  const nothing = { soft: undefined, append: undefined, committed: [], readStates: [] };
  expect(rest).toEqual({ ...nothing, readsDropped: [], snapshotsNeeded: [] });
  expect(member.raft.hasReady()).toBe(false);
});

test('a leader whose followers are in step has nothing ready between its heartbeats', () => {
  const member = new SingleMember({ settings: { heartbeatTicks: 5, electionTicks: 50 } });
  member.lead();
  for (const from of [2, 3]) member.acknowledge(from, 1);
  member.take();
  for (let tick = 1; tick < 40; tick++) {
    member.raft.tick();
    expect(member.raft.hasReady()).toBe(tick % 5 === 0);
    member.take();
  }
});
