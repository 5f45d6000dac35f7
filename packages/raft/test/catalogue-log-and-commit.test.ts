import { describe, expect, test } from 'vitest';
import { MemoryLog } from '../src/index.ts';
import { Inflights } from '../src/inflights.ts';
import { Progress } from '../src/progress.ts';
import { Tail } from '../src/tail.ts';
import {
  accepted,
  append,
  configurationOf,
  entriesOf,
  heartbeat,
  NO_DATA,
  only,
  SingleMember,
} from './single-member.ts';

/** Bugs of other implementations, by their ids in the catalogue: none may come back here. */

describe('log and commit', () => {
  test('B-2: a follower commits no further than this message verified', () => {
    const member = new SingleMember({ log: [1, 1, 1, 1], term: 2 });
    member.step(append({ term: 2, prevIndex: 2, prevTerm: 1, commit: 4 }));
    expect(member.raft.commit).toBe(2);
  });

  test('B-3: a heartbeat announces no more than the member is known to hold', () => {
    const member = new SingleMember();
    member.lead();
    member.acknowledge(2, 1);
    member.propose('a', 'b');
    member.acknowledge(2, 3);
    const beats = only(member.tick(1), 'heartbeat');
    expect(beats.map(({ to, commit }) => [to, commit])).toEqual([
      [2, 3],
      [3, 0],
    ]);
  });

  test('a member that lost what it acknowledged is asked again at the next heartbeat only', () => {
    const peer = new Progress(2, 6, 8, 1000);
    peer.acknowledge(5);
    expect(peer.reject(5, 3)).toBe(false);
    expect(peer.next).toBe(6);
  });

  test('B-6: a compacted entry has no term, so nothing can match it', () => {
    const member = new SingleMember({ log: [1, 1, 1], commit: 3 });
    member.log.setApplied(3, configurationOf([1, 2, 3]));
    member.log.compact(2);
    member.raft.compacted(3);
    expect(member.log.term(1)).toBeUndefined();
    member.lead();
    const rejected = { ...accepted(2, 2, 3), reject: true, hintIndex: 0, hintTerm: 0 };
    member.step(rejected);
    expect(member.snapshotsNeeded).toEqual([2]);
    expect(member.raft.status().peers[0]).toMatchObject({ id: 2, state: 'snapshot', match: 0 });
  });

  test('B-7: leaving a state forgets what was in flight, bytes included', () => {
    const progress = new Progress(2, 1, 4, 100);
    progress.acknowledge(0);
    progress.becomeReplicate();
    progress.sent(3, 90);
    progress.sent(1, 90);
    expect(progress.inflights.full).toBe(true);
    progress.becomeProbe(1);
    expect([progress.inflights.count, progress.inflights.bytes]).toEqual([0, 0]);
    progress.becomeReplicate();
    expect(progress.paused).toBe(false);
  });

  test('B-7: the window counts what is really in flight, through any growth and wrap', () => {
    const window = new Inflights(20, 1 << 20);
    const model: [number, number][] = [];
    for (let index = 1; index <= 500; index++) {
      if (model.length < 20) {
        window.add(index, index % 7);
        model.push([index, index % 7]);
      }
      if (index % 3 === 0) {
        const to = model[Math.min(model.length, index % 5)]?.[0] ?? 0;
        window.freeTo(to);
        while (model.length > 0 && model[0]![0] <= to) model.shift();
      }
      const bytes = model.reduce((sum, [, size]) => sum + size, 0);
      expect([window.count, window.bytes]).toEqual([model.length, bytes]);
      expect(window.full).toBe(model.length === 20);
    }
  });

  test('B-8: an unreachable member that lacks nothing comes back to replication', () => {
    const member = new SingleMember();
    member.lead();
    member.acknowledge(2, 1);
    member.raft.reportUnreachable(2);
    expect(member.raft.status().peers[0]).toMatchObject({ id: 2, state: 'probe' });
    member.tick(1);
    const asked = member.step({
      kind: 'heartbeat-response',
      from: 2,
      to: 1,
      term: 1,
      readRound: 0,
    });
    expect(only(asked, 'append')).toMatchObject([{ to: 2, entries: [] }]);
    member.acknowledge(2, 1);
    expect(member.raft.status().peers[0]).toMatchObject({ id: 2, state: 'replicate' });
  });

  test('B-9: a reader that returns more than asked does not make entries apply early', () => {
    class Generous extends MemoryLog {
      override entries(lo: number) {
        return super.entries(lo, this.lastIndex() + 1, Number.MAX_SAFE_INTEGER);
      }
    }
    const log = new Generous(configurationOf([1, 2, 3]));
    const member = new SingleMember({ settings: { log } });
    member.slowDisk = true;
    member.step(append({ entries: entriesOf([1, 1, 1]), commit: 2 }));
    log.write(member.tasks[0]!);
    member.raft.appendDone(member.tasks.shift()!.sequence);
    member.process();
    expect(member.committed.map(({ index }) => index)).toEqual([1, 2]);
  });

  test('B-10: what counts against the cap is what is taken off again', () => {
    const member = new SingleMember({ settings: { uncommittedBytesMax: 100 } });
    member.lead();
    member.acknowledge(2, 1);
    for (let round = 0; round < 50; round++) {
      const data = Buffer.alloc(round);
      expect(member.raft.propose([data])).toBe('ok');
      if (round === 49) expect(member.raft.propose([data, data])).toBe('overloaded');
      member.take();
      member.acknowledge(2, member.raft.lastIndex);
    }
    expect(member.raft.commit).toBe(member.raft.lastIndex);
    // A single proposal over the cap passes when nothing else waits.
    expect(member.raft.propose([Buffer.alloc(1000)])).toBe('ok');
    expect(member.raft.propose([NO_DATA])).toBe('overloaded');
  });

  test('B-11: ABA, only the task that carries the present version makes it stable', () => {
    const tail = new Tail(5);
    tail.append(entriesOf([2, 2], 5));
    tail.hand(1);
    tail.append(entriesOf([3], 5));
    tail.hand(2);
    tail.append(entriesOf([2, 2], 5));
    tail.hand(3);
    tail.stabilise(1);
    expect(tail.first).toBe(5);
    tail.stabilise(2);
    expect(tail.first).toBe(5);
    tail.stabilise(3);
    expect(tail.first).toBe(7);
  });

  test('B-11: the part of a task that was not overwritten becomes stable with it', () => {
    const tail = new Tail(5);
    tail.append(entriesOf([2, 2, 2], 5));
    tail.hand(1);
    tail.append(entriesOf([3, 3], 7));
    tail.hand(2);
    tail.stabilise(1);
    expect([tail.first, tail.last]).toEqual([7, 8]);
    tail.stabilise(2);
    expect(tail.first).toBe(9);
  });

  test('B-12: an acknowledgement covers what was verified and is durable, not the old tail', () => {
    const member = new SingleMember({ log: [1, 1, 1, 1], term: 2 });
    member.slowDisk = true;
    const request = append({ term: 2, prevIndex: 2, prevTerm: 1, entries: entriesOf([2], 3) });
    expect(only(member.step(request), 'append-response')).toEqual([]);
    expect(member.raft.status()).toMatchObject({ stableIndex: 2, lastIndex: 3 });
    expect(only(member.persist(), 'append-response')).toMatchObject([{ index: 3 }]);
  });

  test('B-13, B-14: a stale rejection moves neither match nor next', () => {
    const member = new SingleMember();
    member.lead();
    member.acknowledge(2, 1);
    member.propose('a', 'b', 'c');
    member.acknowledge(2, 3);
    const stale = { ...accepted(2, 1, 2), reject: true, hintIndex: 0, hintTerm: 0 };
    expect(member.step(stale)).toEqual([]);
    expect(member.raft.status().peers[0]).toMatchObject({ match: 3, next: 5, state: 'replicate' });
  });

  test('B-14: a rejection counts only for the probe that caused it', () => {
    const progress = new Progress(2, 20, 4, 100);
    progress.sent(0, 0);
    // Of an earlier probe, delayed.
    expect(progress.reject(15, 3)).toBe(false);
    expect([progress.next, progress.probeSent]).toEqual([20, true]);
    expect(progress.reject(19, 9)).toBe(true);
    expect([progress.next, progress.probeSent]).toEqual([10, false]);
    progress.sent(0, 0);
    // The same one again.
    expect(progress.reject(19, 3)).toBe(false);
    expect(progress.next).toBe(10);
  });

  test('D-2: one voter applies nothing before its disk holds it', () => {
    const member = new SingleMember({ voters: [1] });
    member.lead();
    member.slowDisk = true;
    member.propose('x');
    expect(member.committed.map(({ index }) => index)).toEqual([1]);
    member.persist();
    member.process();
    expect(member.committed.map(({ index }) => index)).toEqual([1, 2]);
  });

  test('rule 10: the commit index on disk is as new as the entries, and never ahead of them', () => {
    const member = new SingleMember();
    member.slowDisk = true;
    member.step(append({ entries: entriesOf([1, 1]), commit: 9 }));
    expect(member.tasks[0]).toMatchObject({ hardState: { term: 1, vote: 0, commit: 2 } });
    member.step(heartbeat({ commit: 2 }));
    member.step(append({ prevIndex: 2, prevTerm: 1, entries: entriesOf([1], 3), commit: 2 }));
    expect(member.tasks[1]).toMatchObject({ hardState: undefined });
    member.step(append({ prevIndex: 3, prevTerm: 1, commit: 3 }));
    expect(member.tasks).toHaveLength(2);
    while (member.tasks.length > 0) member.persist();
    member.process();
    // Alone, it waits for an idle log and for no sync.
    expect(member.tasks).toMatchObject([{ hardState: { commit: 3 }, mustSync: false }]);
  });

  test('committed entries come in pages, the next one when the last is applied', () => {
    const member = new SingleMember({ settings: { committedBytesMax: 2 } });
    member.slowApply = true;
    member.step(append({ entries: entriesOf([1, 1, 1, 1, 1]), commit: 5 }));
    const first = member.committed.length;
    expect(first).toBeLessThan(5);
    expect(member.raft.hasReady()).toBe(false);
    for (let applied = 1; applied <= 5; applied++) {
      member.raft.appliedTo(applied);
      member.process();
    }
    expect(member.committed.map(({ index }) => index)).toEqual([1, 2, 3, 4, 5]);
  });

  test('a page that must come from disk follows when the log has it', () => {
    const member = new SingleMember({ log: [1, 1] });
    member.log.pending = true;
    member.step(append({ term: 1, prevIndex: 2, prevTerm: 1, commit: 2 }));
    expect(member.committed).toEqual([]);
    expect(member.raft.hasReady()).toBe(false);
    member.log.pending = false;
    member.raft.logAvailable();
    member.process();
    expect(member.committed.map(({ index }) => index)).toEqual([1, 2]);
  });

  test('an append whose entries must come from disk follows when the log has them', () => {
    const member = new SingleMember({ log: [1, 1] });
    member.lead();
    member.log.pending = true;
    const rejected = { ...accepted(2, 2, 2), reject: true, hintIndex: 0, hintTerm: 0 };
    expect(member.step(rejected)).toEqual([]);
    expect(member.raft.hasReady()).toBe(false);
    member.log.pending = false;
    member.raft.logAvailable();
    expect(only(member.take(), 'append')).toMatchObject([{ to: 2, prevIndex: 0 }]);
  });
});
