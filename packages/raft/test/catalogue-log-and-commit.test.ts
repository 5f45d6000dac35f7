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
  NO_DATA,
  only,
  SingleMember,
} from './single-member.ts';

/** Bugs of other implementations, by their ids in the catalogue: none may come back here. */

describe('log and commit', () => {
  test('a member that lost what it acknowledged is asked again at the next heartbeat only', () => {
    const peer = new Progress(2, 6, 8, 1000);
    peer.acknowledge(5);
    expect(peer.reject(5, 3)).toBe(false);
    expect(peer.next).toBe(6);
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
