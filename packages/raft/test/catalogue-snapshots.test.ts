import { describe, expect, test } from 'vitest';
import { accepted, append, configurationOf, entriesOf, SingleMember } from './single-member.ts';

/** Bugs of other implementations, by their ids in the catalogue: none may come back here. */

describe('snapshots', () => {
  const meta = { index: 5, term: 2, configuration: configurationOf([1, 2, 3, 4]) };

  test('the log restarts behind a snapshot it does not contain, acknowledged when durable', () => {
    const member = new SingleMember({ log: [1, 1] });
    member.step(append({ term: 2, prevIndex: 9, prevTerm: 2 }));
    member.slowDisk = true;
    member.raft.snapshotInstalled(meta);
    expect(member.take()).toEqual([]);
    expect(member.tasks).toMatchObject([{ snapshot: meta, hardState: { commit: 5 } }]);
    expect(member.raft).toMatchObject({ lastIndex: 5, commit: 5 });
    expect(member.raft.status().configuration).toBe(meta.configuration);
    expect(member.persist()).toMatchObject([{ kind: 'append-response', to: 2, index: 5 }]);
    member.step(
      append({ term: 2, prevIndex: 5, prevTerm: 2, entries: entriesOf([2], 6), commit: 6 }),
    );
    member.persist();
    member.process();
    expect(member.committed.map(({ index }) => index)).toEqual([6]);
  });

  test('M-13: a snapshot at or below what is applied is refused', () => {
    const member = new SingleMember();
    member.step(append({ entries: entriesOf([1, 1]), commit: 2 }));
    expect(() => member.raft.snapshotInstalled({ ...meta, index: 2 })).toThrow('applied');
  });

  test('S-4: a second snapshot before the first is durable replaces it', () => {
    const member = new SingleMember();
    member.slowDisk = true;
    member.step(append({ term: 2, prevIndex: 9, prevTerm: 2 }));
    member.raft.snapshotInstalled(meta);
    member.take();
    member.raft.snapshotInstalled({ ...meta, index: 8 });
    member.take();
    while (member.tasks.length > 0) member.persist();
    expect(member.log.lastIndex()).toBe(8);
    expect(member.raft.lastIndex).toBe(8);
    expect(member.raft.status().stableIndex).toBe(8);
  });

  test('S-12: any acknowledgement that meets the log ends the snapshot state', () => {
    const member = new SingleMember({ log: [1, 1, 1], commit: 3 });
    member.log.setApplied(3, configurationOf([1, 2, 3]));
    member.log.compact(3);
    member.raft.compacted(4);
    member.lead();
    member.step({ ...accepted(2, 2, 3), reject: true, hintIndex: 0, hintTerm: 0 });
    expect(member.raft.status().peers[0]).toMatchObject({ id: 2, state: 'snapshot' });
    member.acknowledge(2, 2);
    expect(member.raft.status().peers[0]).toMatchObject({ id: 2, state: 'snapshot' });
    member.acknowledge(2, 3);
    expect(member.raft.status().peers[0]).toMatchObject({ id: 2, state: 'replicate', match: 3 });
  });
});
