import { describe, expect, test } from 'vitest';
import { EntryType, MemoryLog, type Message, type VoteResponse } from '../src/index.ts';
import { Inflights } from '../src/inflights.ts';
import { Progress } from '../src/progress.ts';
import { Tail } from '../src/tail.ts';
import {
  accepted,
  append,
  configurationOf,
  entriesOf,
  kinds,
  NO_DATA,
  only,
  SingleMember,
} from './single-member.ts';

/** Bugs of other implementations, by their id in the catalogue: none may come back here. */

const heartbeat = (rest: object) =>
  ({ kind: 'heartbeat', from: 2, to: 1, term: 1, commit: 0, readRound: 0, ...rest }) as const;
const vote = (rest: object) =>
  ({
    kind: 'vote',
    from: 2,
    to: 1,
    term: 1,
    preVote: false,
    transfer: false,
    lastIndex: 9,
    lastTerm: 9,
    incarnation: 1,
    campaign: 1,
    ...rest,
  }) as const;

describe('elections', () => {
  test('E-1: stepping down within a term keeps the vote', () => {
    const member = new SingleMember({ term: 4 });
    member.step(vote({ term: 5, from: 2 }));
    member.step(append({ term: 5, from: 3 }));
    expect(member.raft.status()).toMatchObject({ term: 5, vote: 2 });
    expect(member.step(vote({ term: 5, from: 3 }))).toMatchObject([{ reject: true }]);
  });

  test('E-1: the vote survives a restart', () => {
    const member = new SingleMember({ term: 5, vote: 2 });
    expect(member.step(vote({ term: 5, from: 3 }))).toMatchObject([{ reject: true }]);
  });

  test.each(['follower', 'pre-candidate', 'candidate'])(
    'E-5, E-6: a %s answers a pre-vote without changing term or vote',
    (role) => {
      const member = new SingleMember({ log: [1], term: 1 });
      if (role !== 'follower') member.campaign();
      if (role === 'candidate') member.grant(2);
      const before = member.raft.status();
      expect(before.role).toBe(role);
      const request = vote({ from: 3, term: before.term + 1, preVote: true });
      expect(member.step(request)).toMatchObject([{ reject: false, term: before.term + 1 }]);
      expect(member.raft.status()).toEqual(before);
    },
  );

  test('E-7: a member that turns pre-candidate forgets leader and former votes', () => {
    const member = new SingleMember({ log: [1] });
    member.step(heartbeat({}));
    expect(member.step(vote({ term: 2, preVote: true }))).toEqual([]);
    member.tick(10);
    expect(member.raft).toMatchObject({ role: 'pre-candidate', leader: 0 });
    expect(member.step(vote({ term: 2, preVote: true, from: 3 }))).toMatchObject([
      { reject: false },
    ]);
  });

  test('E-7: answers to an earlier round or an earlier life are dropped', () => {
    const member = new SingleMember();
    const [first] = only(member.campaign(), 'vote');
    member.campaign();
    const answer = (rest: Partial<VoteResponse>): VoteResponse => ({
      kind: 'vote-response',
      from: 2,
      to: 1,
      term: 1,
      preVote: true,
      reject: false,
      incarnation: 7,
      campaign: 2,
      ...rest,
    });
    member.step(answer({ campaign: first!.campaign }));
    member.step(answer({ incarnation: 6 }));
    expect(member.raft.role).toBe('pre-candidate');
    member.step(answer({}));
    expect(member.raft.role).toBe('candidate');
  });

  test('E-9: a refused pre-vote brings the term forward, without a vote', () => {
    const member = new SingleMember({ log: [1, 1, 1] });
    const [request] = only(member.campaign(), 'vote');
    const { incarnation, campaign } = request!;
    const answer = { from: 2, to: 1, term: 6, preVote: true, reject: true, incarnation, campaign };
    member.step({ kind: 'vote-response', ...answer });
    expect(member.raft.status()).toMatchObject({ role: 'follower', term: 6, vote: 0 });
  });

  test('rule 7: requests for votes wait until term, vote and all entries are durable', () => {
    const member = new SingleMember({ log: [1] });
    member.slowDisk = true;
    member.step(append({ prevIndex: 1, prevTerm: 1, entries: entriesOf([1], 2) }));
    member.raft.leaderLinkLost(1);
    expect(member.tick(1)).toEqual([]);
    expect(member.raft.role).toBe('pre-candidate');
    expect(kinds(member.persist())).toEqual(['append-response']);
    expect(kinds(member.persist())).toEqual(['vote', 'vote']);
    member.take();
    // A pre-vote needs no disk; the real one does.
    member.slowDisk = true;
    const answer = { term: 2, preVote: true, reject: false, incarnation: 7, campaign: 1 };
    member.raft.step({ kind: 'vote-response', from: 2, to: 1, ...answer });
    expect(member.take()).toEqual([]);
    expect(kinds(member.persist())).toEqual(['vote-response', 'vote', 'vote']);
  });

  test('no campaign with a committed configuration that is not applied', () => {
    const member = new SingleMember();
    member.slowApply = true;
    const change = { index: 1, term: 1, type: EntryType.Configuration, data: NO_DATA };
    member.step(append({ entries: [change], commit: 1 }));
    expect(member.tick(30)).toEqual([]);
    member.raft.applyConfiguration(undefined);
    member.raft.appliedTo(1);
    expect(only(member.tick(10), 'vote')).toHaveLength(2);
  });

  test('no campaign and no vote of a member that must not', () => {
    let whole = false;
    const settings = { mayCampaign: () => whole, mayVote: () => whole };
    const member = new SingleMember({ settings });
    expect(member.tick(30)).toEqual([]);
    expect(member.step(vote({ term: 1 }))).toMatchObject([{ reject: true }]);
    whole = true;
    expect(member.step(vote({ term: 1 }))).toMatchObject([{ reject: false }]);
  });

  test('a log whose last entry must come from disk does not campaign yet', () => {
    const member = new SingleMember({ log: [1] });
    member.log.pending = true;
    expect(member.tick(10)).toEqual([]);
    member.log.pending = false;
    expect(only(member.tick(10), 'vote')).toHaveLength(2);
  });
});

describe('E-12: every message in every role', () => {
  const context = { member: 2, incarnation: 1, counter: 1 };
  const messages = (term: number): Message[] => [
    append({ term, prevIndex: 1, prevTerm: 1 }),
    append({ term, prevIndex: 9, prevTerm: 9, entries: entriesOf([9], 10) }),
    // Gaps and entries of a later term than the message's: no correct member sends them.
    append({ term, prevIndex: 1, prevTerm: 1, entries: entriesOf([1], 3) }),
    append({ term, prevIndex: 1, prevTerm: 1, entries: entriesOf([term + 1], 2) }),
    accepted(2, term, 1),
    accepted(2, term, 99),
    { ...accepted(2, term, 1), reject: true, hintIndex: 50, hintTerm: 50 },
    heartbeat({ term }),
    heartbeat({ term, commit: 99 }),
    { kind: 'heartbeat-response', from: 2, to: 1, term, readRound: 99 },
    vote({ term, preVote: true }),
    vote({ term, transfer: true }),
    vote({ term, lastIndex: 0, lastTerm: 0 }),
    { ...vote({ term }), kind: 'vote-response', reject: true },
    { ...vote({ term, preVote: true, incarnation: 7 }), kind: 'vote-response', reject: false },
    { kind: 'read-index', from: 2, to: 1, term, context },
    { kind: 'read-index-response', from: 2, to: 1, term, context, index: 1 },
    { kind: 'transfer', from: 2, to: 1, term, target: 3 },
    { kind: 'timeout-now', from: 2, to: 1, term },
  ];
  const roles = {
    follower: () => new SingleMember({ log: [1] }),
    'pre-candidate': () => {
      const member = new SingleMember({ log: [1] });
      member.campaign();
      return member;
    },
    candidate: () => {
      const member = new SingleMember({ log: [1] });
      member.campaign();
      member.grant(2);
      return member;
    },
    leader: () => {
      const member = new SingleMember({ log: [1] });
      member.lead();
      return member;
    },
  };

  test.each(Object.keys(roles) as (keyof typeof roles)[])('a %s takes them all', (role) => {
    for (const ahead of [-1, 0, 1, 3]) {
      for (const from of [2, 3, 99]) {
        const { term } = roles[role]().raft;
        for (const message of messages(term + ahead)) {
          const member = roles[role]();
          expect(member.raft.role).toBe(role);
          const fromLeader = message.kind === 'append' || message.kind === 'heartbeat';
          // Two leaders of one term: a broken invariant, checked below.
          if (role === 'leader' && ahead === 0 && fromLeader) continue;
          member.step({ ...message, from });
          member.tick(1);
          expect(member.raft.term).toBeGreaterThanOrEqual(term);
        }
      }
    }
  });

  test('a second leader of one term stops the member', () => {
    const leader = roles.leader();
    const { term } = leader.raft;
    expect(() => leader.step(append({ term, from: 3 }))).toThrow('two leaders in term');
    const follower = new SingleMember();
    follower.step(append({ from: 2 }));
    expect(() => follower.step(append({ from: 3 }))).toThrow('two leaders in term');
  });

  test('responses of strangers count for nothing, requests are served', () => {
    const member = new SingleMember();
    member.campaign();
    const { incarnation, campaign } = { incarnation: 7, campaign: 1 };
    const answer = { term: 9, preVote: false, reject: true, incarnation, campaign };
    member.step({ kind: 'vote-response', from: 99, to: 1, ...answer });
    expect(member.raft).toMatchObject({ role: 'pre-candidate', term: 0 });
    expect(member.step(vote({ term: 3, from: 99 }))).toMatchObject([{ to: 99, reject: false }]);
  });
});

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

describe('membership', () => {
  const change = Buffer.from('change');

  test('M-1: a change waits for an applied entry of this term and for the one before it', () => {
    const member = new SingleMember();
    member.slowApply = true;
    member.lead();
    expect(member.raft.proposeConfiguration(change)).toBe('overloaded');
    member.acknowledge(2, 1);
    expect(member.raft.proposeConfiguration(change)).toBe('overloaded');
    member.raft.appliedTo(1);
    expect(member.raft.proposeConfiguration(change)).toBe('ok');
    expect(member.raft.proposeConfiguration(change)).toBe('overloaded');
    member.take();
    member.acknowledge(2, 2);
    member.raft.applyConfiguration({ configuration: configurationOf([1, 2, 3, 4]) });
    member.raft.appliedTo(2);
    expect(member.raft.proposeConfiguration(change)).toBe('ok');
  });

  test('a new member is asked where its log stands, and counts', () => {
    const member = new SingleMember();
    member.lead();
    member.acknowledge(2, 1);
    member.raft.applyConfiguration({ configuration: configurationOf([1, 2, 3, 4]) });
    expect(only(member.take(), 'append')).toMatchObject([{ to: 4, prevIndex: 1 }]);
    member.propose('x');
    member.acknowledge(2, 2);
    expect(member.raft.commit).toBe(1);
    member.acknowledge(4, 2);
    expect(member.raft.commit).toBe(2);
  });

  test('M-6: a learner counts neither for commit nor for the check of the quorum', () => {
    const configuration = configurationOf([1, 2], { learners: [3] });
    const member = new SingleMember({ configuration });
    member.lead();
    member.acknowledge(3, 1);
    expect(member.raft.commit).toBe(0);
    member.tick(10);
    for (let i = 0; i < 10; i++) {
      member.tick(1);
      member.step({ kind: 'heartbeat-response', from: 3, to: 1, term: 1, readRound: 0 });
    }
    expect(member.raft.role).toBe('follower');
  });

  test('a smaller quorum commits at once what it now suffices for', () => {
    const member = new SingleMember();
    member.lead();
    expect(member.raft.commit).toBe(0);
    member.raft.applyConfiguration({ configuration: configurationOf([1]) });
    expect(member.raft.commit).toBe(1);
  });

  test('M-7: a leader goes on leading while it is in either half of a joint configuration', () => {
    const member = new SingleMember();
    member.lead();
    member.acknowledge(2, 1);
    const joint = configurationOf([2, 3], { votersOutgoing: [1, 2, 3] });
    member.raft.applyConfiguration({ configuration: joint });
    expect(member.raft.propose([NO_DATA])).toBe('ok');
  });

  test('M-9: a leader that is out hands over to a voter that has its whole log', () => {
    const member = new SingleMember();
    member.lead();
    member.acknowledge(2, 1);
    member.propose('x');
    member.raft.applyConfiguration({ configuration: configurationOf([2, 3]) });
    expect(member.raft.propose([NO_DATA])).toBe('transferring');
    expect(kinds(member.acknowledge(2, 1))).not.toContain('timeout-now');
    // What it had taken is still committed, by the voters alone.
    expect(member.raft.commit).toBe(1);
    expect(only(member.acknowledge(2, 2), 'timeout-now')).toMatchObject([{ to: 2 }]);
    member.acknowledge(3, 2);
    expect(member.raft.commit).toBe(2);
  });

  test('M-9: a leader that is out and finds nobody to hand over to steps down', () => {
    const member = new SingleMember();
    member.lead();
    member.acknowledge(2, 1);
    member.raft.applyConfiguration({ configuration: configurationOf([2, 3]) });
    for (let tick = 0; tick < 30; tick++) {
      member.tick(1);
      member.step({ kind: 'heartbeat-response', from: 3, to: 1, term: 1, readRound: 0 });
      member.step({ kind: 'heartbeat-response', from: 2, to: 1, term: 1, readRound: 0 });
    }
    expect(member.raft.role).toBe('follower');
  });

  test('M-9: a member that is no voter campaigns only when nobody has led for long', () => {
    const member = new SingleMember({ configuration: configurationOf([2, 3]), log: [1, 1] });
    member.raft.campaign();
    expect(member.tick(39)).toEqual([]);
    expect(only(member.tick(1), 'vote').map(({ to, preVote }) => [to, preVote])).toEqual([
      [2, true],
      [3, true],
    ]);
  });

  test('a vetoed change leaves the configuration', () => {
    const member = new SingleMember();
    expect(member.raft.applyConfiguration(undefined).voters).toEqual([1, 2, 3]);
  });
});

describe('reads', () => {
  const readAt = (counter: number) => ({ member: 1, incarnation: 7, counter });
  const confirm = (from: number, readRound: number) =>
    ({ kind: 'heartbeat-response', from, to: 1, term: 1, readRound }) as const;

  test('R-1: a new leader holds reads until an entry of its term is committed', () => {
    const member = new SingleMember({ log: [1], term: 0 });
    member.lead();
    member.raft.readIndex(readAt(1));
    expect(member.take()).toEqual([]);
    const { term } = member.raft;
    member.step({ ...confirm(2, 9), term });
    expect(member.readStates).toEqual([]);
    member.acknowledge(2, 2);
    member.step({ ...confirm(2, 1), term });
    expect(member.readStates).toMatchObject([{ index: 2 }]);
  });

  test('R-2: a confirmation of an earlier round answers no later read', () => {
    const member = new SingleMember();
    member.lead();
    member.acknowledge(2, 1);
    member.raft.readIndex(readAt(1));
    member.take();
    member.step(confirm(2, 1));
    expect(member.readStates).toHaveLength(1);
    member.raft.readIndex(readAt(2));
    member.take();
    member.step(confirm(3, 1));
    member.step(confirm(2, 1));
    // Nor does a round that was never begun.
    member.step(confirm(3, 3));
    expect(member.readStates).toHaveLength(1);
    member.step(confirm(3, 2));
    expect(member.readStates).toHaveLength(2);
  });

  test('R-2: a context is never used twice', () => {
    const member = new SingleMember();
    member.step(append({}));
    member.raft.readIndex(readAt(1));
    expect(() => member.raft.readIndex(readAt(1))).toThrow('used twice');
  });

  test('R-6: a single voter answers nothing before all of its log is committed', () => {
    const member = new SingleMember({ voters: [1], log: [1, 1, 1], commit: 1 });
    member.slowDisk = true;
    member.raft.readIndex(readAt(1));
    member.take();
    expect(member.readsDropped).toEqual([1]);
    member.raft.campaign();
    member.take();
    member.persist();
    member.raft.readIndex(readAt(2));
    member.take();
    expect(member.readStates).toEqual([]);
    member.persist();
    member.process();
    expect(member.readStates).toMatchObject([{ index: 4 }]);
  });

  test('R-8: reads end when the leader does, here and at the member that asked', () => {
    const member = new SingleMember();
    member.lead();
    member.acknowledge(2, 1);
    member.raft.readIndex(readAt(1));
    const context = { member: 3, incarnation: 1, counter: 5 };
    member.step({ kind: 'read-index', from: 3, to: 1, term: 1, context });
    const refused = member.step(append({ term: 2, prevIndex: 1, prevTerm: 1 }));
    expect(member.readsDropped).toEqual([1]);
    expect(only(refused, 'read-index-response')).toMatchObject([{ to: 3, context, index: 0 }]);
  });
});

describe('transfer', () => {
  test('T-1: proposals are refused, and the target is told only when it has them all', () => {
    const member = new SingleMember();
    member.lead();
    member.acknowledge(2, 1);
    member.propose('x');
    member.raft.transferLeader(2);
    expect(member.raft.propose([NO_DATA])).toBe('transferring');
    expect(member.raft.proposeConfiguration(NO_DATA)).toBe('transferring');
    expect(kinds(member.take())).not.toContain('timeout-now');
    expect(only(member.acknowledge(2, 2), 'timeout-now')).toMatchObject([{ to: 2 }]);
  });

  test('T-2: given up after an election timeout', () => {
    const member = new SingleMember();
    member.lead();
    member.acknowledge(2, 1);
    member.raft.transferLeader(2);
    member.tick(9);
    expect(member.raft.status().transferTarget).toBe(2);
    member.tick(1);
    expect(member.raft.propose([NO_DATA])).toBe('ok');
  });

  test('T-2: a target that has turned pre-candidate meanwhile is still told', () => {
    const target = new SingleMember({ log: [1] });
    target.step(heartbeat({}));
    target.tick(10);
    expect(target.raft.role).toBe('pre-candidate');
    target.step({ kind: 'timeout-now', from: 2, to: 1, term: 1 });
    expect(target.raft).toMatchObject({ role: 'candidate', term: 2 });
  });

  test('T-3: asked of a member without a leader, or for nobody, nothing happens', () => {
    const member = new SingleMember();
    member.raft.transferLeader(2);
    expect(member.take()).toEqual([]);
    member.campaign();
    member.raft.transferLeader(2);
    expect(member.take()).toEqual([]);
  });

  test('the first entry of the term knows whether the leadership was handed over', () => {
    const told: [number | undefined, boolean][] = [];
    const settings = {
      termStart: (last: { index: number } | undefined, transferred: boolean) => {
        told.push([last?.index, transferred]);
        return NO_DATA;
      },
    };
    const member = new SingleMember({ log: [1, 1], settings });
    member.step(heartbeat({}));
    const requests = only(member.step({ kind: 'timeout-now', from: 2, to: 1, term: 1 }), 'vote');
    const { term, incarnation, campaign } = requests[0]!;
    const answer = { term, preVote: false, reject: false, incarnation, campaign };
    member.step({ kind: 'vote-response', from: 3, to: 1, ...answer });
    expect(told).toEqual([[2, true]]);
    const other = new SingleMember({ settings });
    other.lead();
    expect(told[1]).toEqual([undefined, false]);
  });
});

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
