import {
  decodeEntry,
  type FileError,
  type ImageChange,
  type ImageStore,
  type LinkInfo,
  type LogEntry,
  NO_MEMBER,
  toByteString,
  utf8Bytes,
} from '@lockstep/model';
import type { ProposeResult, Raft } from '@lockstep/raft';
import type { StateMachine } from '@lockstep/state-machine';
import { describe, expect, it } from 'vitest';
import { ClusterClock } from '../src/cluster-clock.ts';
import { Contact } from '../src/contact.ts';
import { Forwarder } from '../src/forwarder.ts';
import { decodePosition, ImageWriter, POSITION_KEY } from '../src/image-writer.ts';
import { tickDue } from '../src/leadership.ts';
import { PendingCommands } from '../src/pending-commands.ts';
import { Proposer } from '../src/proposer.ts';
import { Renewals } from '../src/renewals.ts';
import { VirtualTime } from './virtual-time.ts';

const body = (text: string) => utf8Bytes(text);
const configuration = {
  voters: [1, 2, 3],
  votersOutgoing: [],
  learners: [],
  learnersNext: [],
  autoLeave: false,
};

describe('cluster time', () => {
  it('advances by at most one step per turn and only while it runs', () => {
    const clock = new ClusterClock(100);
    clock.begin(5000, 10);
    clock.advance(40.5, true);
    expect(clock.now).toBe(5030);
    clock.advance(30_000, true);
    expect(clock.now).toBe(5130);
    clock.advance(30_050, false);
    clock.advance(30_060, true);
    expect(clock.now).toBe(5140);
  });
});

describe('an idle leader', () => {
  it('appends ticks while expiry or background work is left, and when a deadline passes', () => {
    const raft = { role: 'leader', lastIndex: 7 } as Raft;
    const idle = { appliedIndex: 7, expiryPending: false, backgroundPending: false };
    const due = (machine: object, clusterMs = 500) =>
      tickDue(raft, { nextDeadline: 0, ...idle, ...machine } as StateMachine, clusterMs);
    expect(due({})).toBe(false);
    expect(due({ expiryPending: true })).toBe(true);
    expect(due({ backgroundPending: true })).toBe(true);
    expect(due({ backgroundPending: true, appliedIndex: 6 })).toBe(false);
    expect(due({ nextDeadline: 501 })).toBe(false);
    expect(due({ nextDeadline: 500 })).toBe(true);
  });
});

describe('contact', () => {
  const sample = (echoMs: number, wallMs: number, quorum = true) =>
    ({ kind: 'clock', wallMs, stampMs: 1, echoMs, quorum }) as const;

  it('counts a majority that heard this member within an election timeout', () => {
    const contact = new Contact(1, 1000, 50);
    expect(contact.quorumLive(configuration, 100)).toBe(false);
    contact.received(2, sample(90, 0), 100);
    expect(contact.quorumLive(configuration, 100)).toBe(true);
    expect(contact.quorumLive(configuration, 1089)).toBe(true);
    expect(contact.quorumLive(configuration, 1090)).toBe(false);
  });

  it('needs a majority of both halves of a joint configuration', () => {
    const contact = new Contact(1, 1000, 50);
    contact.received(2, sample(90, 0), 100);
    const joint = { ...configuration, votersOutgoing: [1, 4, 5] };
    expect(contact.quorumLive(joint, 100)).toBe(false);
    contact.received(4, sample(95, 0), 100);
    expect(contact.quorumLive(joint, 100)).toBe(true);
  });

  it('is lost when the leader says that it has no majority itself', () => {
    const contact = new Contact(1, 1000, 50);
    contact.received(2, sample(90, 0, true), 100);
    expect(contact.throughLeader(2, configuration, 100)).toBe(true);
    contact.received(2, sample(95, 0, false), 110);
    expect(contact.throughLeader(2, configuration, 110)).toBe(false);
  });

  it('outlives a change of leader by an election timeout, counted from what the old one heard', () => {
    const contact = new Contact(1, 1000, 50);
    contact.received(2, sample(90, 0, true), 100);
    expect(contact.throughLeader(2, configuration, 100)).toBe(true);
    expect(contact.throughLeader(NO_MEMBER, configuration, 200)).toBe(true);
    contact.received(3, sample(150, 0, false), 300);
    expect(contact.throughLeader(3, configuration, 300)).toBe(true);
    expect(contact.throughLeader(3, configuration, 1089)).toBe(true);
    expect(contact.throughLeader(3, configuration, 1090)).toBe(false);
    contact.received(3, sample(1000, 0, true), 1100);
    expect(contact.throughLeader(3, configuration, 1100)).toBe(true);
  });

  it('outlives own leadership by an election timeout, counted from the majority', () => {
    const contact = new Contact(1, 1000, 50);
    contact.received(2, sample(90, 0), 100);
    contact.received(3, sample(40, 0), 100);
    expect(contact.throughLeader(1, configuration, 100)).toBe(true);
    expect(contact.throughLeader(NO_MEMBER, configuration, 120)).toBe(true);
    expect(contact.throughLeader(NO_MEMBER, configuration, 1089)).toBe(true);
    expect(contact.throughLeader(NO_MEMBER, configuration, 1090)).toBe(false);
  });

  it('takes the median of the wall clocks heard lately', () => {
    const contact = new Contact(1, 1000, 50);
    for (const [member, wallMs] of [
      [2, 2_000_000],
      [3, 9_000_000],
    ] as const) {
      contact.heard(member, 100);
      contact.received(member, sample(-1, wallMs), 100);
    }
    expect(contact.medianWallMs(150, 1_000_000)).toBe(2_000_050);
    contact.heard(2, 5000);
    expect(contact.medianWallMs(5000, 1_000_000)).toBe(1_000_000);
  });

  it('echoes no stamp of an earlier link', () => {
    const contact = new Contact(1, 1000, 50);
    contact.received(2, sample(-1, 0), 100);
    expect(contact.sample(2, 200, 0, true)).toMatchObject({ stampMs: 200, echoMs: 1 });
    contact.linkChanged(2);
    expect(contact.sample(2, 220, 0, true)).toBe(undefined);
    expect(contact.sample(2, 250, 0, true)).toMatchObject({ echoMs: -1 });
  });
});

describe('pending commands', () => {
  it('keep their numbers while the ring grows and turns', () => {
    const pending = new PendingCommands();
    for (let i = 0; i < 700; i++) pending.push(body(`${i}`), undefined, 0);
    for (let i = 0; i < 600; i++) expect(pending.shift().sequence).toBe(i + 1);
    for (let i = 700; i < 3000; i++) pending.push(body(`${i}`), undefined, 0);
    expect(pending.count).toBe(2400);
    expect(toByteString(pending.get(2500)!.command)).toBe('2499');
    expect(pending.get(600)).toBe(undefined);
    expect(pending.get(3001)).toBe(undefined);
  });
});

function forwarderTo(leader: number) {
  const forwarder = new Forwarder(1, 7, 1 << 20);
  const outcomes: string[] = [];
  const submit = (text: string, deadlineMs = 1000) =>
    forwarder.submit(
      body(text),
      {
        applied: () => outcomes.push(`${text} applied`),
        failed: (error) => outcomes.push(`${text} ${error.code}`),
      },
      deadlineMs,
    );
  forwarder.retarget(leader, 5, 1, 0);
  const send = (countMax = 100) => {
    const run = forwarder.peek(leader, 1 << 20, countMax);
    if (run !== undefined) forwarder.handed(run, 0);
    return run && `${run.first}: ${run.commands.map(toByteString).join(' ')}`;
  };
  return { forwarder, outcomes, submit, send };
}

const done = { kind: 'done', result: undefined, revision: 0 } as const;

describe('the forwarder', () => {
  it('hands each command once, and from the first unapplied again on a new link', () => {
    const { forwarder, submit, send } = forwarderTo(2);
    for (const text of ['a', 'b', 'c']) submit(text);
    expect(send(2)).toBe('1: a b');
    expect(send()).toBe('3: c');
    expect(send()).toBe(undefined);
    forwarder.result(1, done, 0);
    forwarder.retarget(2, 6, 1, 0);
    expect(send()).toBe('2: b c');
  });

  it('goes back to the number that the leader wants', () => {
    const { forwarder, submit, send } = forwarderTo(2);
    for (const text of ['a', 'b', 'c']) submit(text);
    send();
    forwarder.refused(2, 0);
    expect(send()).toBe('2: b c');
  });

  it('starts again when a gap was voided, and when nothing moved for long', () => {
    const { forwarder, submit, send } = forwarderTo(2);
    for (const text of ['a', 'b']) submit(text, 100_000);
    send();
    forwarder.result(2, { kind: 'void', reason: 'gap' }, 0);
    expect(send()).toBe('1: a b');
    forwarder.tick(900, 1000);
    expect(send()).toBe(undefined);
    forwarder.tick(1001, 1000);
    expect(send()).toBe('1: a b');
  });

  it('tells failed before a leader has it, unknown after, and resends the number empty', () => {
    const { forwarder, outcomes, submit, send } = forwarderTo(2);
    submit('a', 10);
    send();
    submit('b', 20);
    forwarder.tick(50, 1000);
    expect(outcomes).toEqual(['a UNKNOWN_OUTCOME', 'b NO_LEADER']);
    forwarder.retarget(3, 9, 2, 50);
    const run = forwarder.peek(3, 1 << 20, 100)!;
    expect(run.commands.map((command) => command.length)).toEqual([0, 0]);
  });

  it('never gives up a hello, yet tells those behind it', () => {
    const { forwarder, outcomes, submit, send } = forwarderTo(2);
    submit('hello', Number.POSITIVE_INFINITY);
    submit('a', 10);
    forwarder.tick(50, 1000);
    expect(outcomes).toEqual(['a NO_LEADER']);
    expect(send()).toBe('1: hello ');
  });

  it('ignores the outcome of a second copy', () => {
    const { forwarder, outcomes, submit, send } = forwarderTo(2);
    submit('a');
    send();
    forwarder.result(1, done, 0);
    forwarder.result(1, { kind: 'void', reason: 'duplicate' }, 0);
    expect(outcomes).toEqual(['a applied']);
  });

  it('begins again at 1 in a new incarnation', () => {
    const { forwarder, outcomes, submit, send } = forwarderTo(2);
    submit('a');
    send();
    forwarder.restart(8);
    expect(outcomes).toEqual(['a UNKNOWN_OUTCOME']);
    expect(submit('hello')).toBe(1);
    expect(send()).toBe('1: hello');
  });
});

describe('the proposer', () => {
  const link = (member: number, number: number): LinkInfo => ({
    member,
    incarnation: 1,
    link: number,
  });
  const run = (first: number, ...texts: string[]) => ({
    origin: 2,
    incarnation: 1,
    first,
    commands: texts.map(body),
  });

  function proposing() {
    const forwarder = new Forwarder(1, 1, 1 << 20);
    forwarder.retarget(1, 0, 1, 0);
    const entries: LogEntry[] = [];
    const answers: ProposeResult[] = [];
    const propose = (data: readonly Uint8Array[]): ProposeResult => {
      const answer = answers.shift() ?? 'ok';
      if (answer === 'ok') entries.push(decodeEntry(data[0]!));
      return answer;
    };
    const raft = { propose } as unknown as Raft;
    const proposer = new Proposer(1, forwarder);
    const times = { clusterMs: 10, wallMs: 20 };
    const go = (held = false) => proposer.propose(raft, times, held, 0);
    const texts = () =>
      entries.map((entry) => entry.runs.flatMap((r) => r.commands.map(toByteString)).join(' '));
    return { forwarder, proposer, entries, answers, go, texts };
  }

  it('takes the runs of an origin without holes and names the number it wants', () => {
    const { proposer, go, texts } = proposing();
    expect(proposer.takeRun(link(2, 1), run(4, 'd', 'e'), 0)).toBe(0);
    expect(proposer.takeRun(link(2, 1), run(7, 'g'), 0)).toBe(6);
    expect(proposer.takeRun(link(2, 1), run(6, 'f'), 0)).toBe(0);
    go();
    expect(texts()).toEqual(['d e f']);
  });

  it('goes on behind what is applied, though another link brought it', () => {
    const { proposer, go, texts } = proposing();
    proposer.takeRun(link(2, 1), run(1, 'a'), 0);
    // The origin has learnt from the log that 2 to 6 are applied, and begins behind them.
    expect(proposer.takeRun(link(2, 1), run(7, 'g'), 5)).toBe(6);
    expect(proposer.takeRun(link(2, 1), run(7, 'g'), 6)).toBe(0);
    go();
    expect(texts()).toEqual(['a g']);
  });

  it('takes runs from the newest link only', () => {
    const { proposer, go, texts } = proposing();
    proposer.takeRun(link(2, 5), run(1, 'new'), 0);
    proposer.takeRun(link(2, 4), run(1, 'old'), 0);
    go();
    expect(texts()).toEqual(['new']);
  });

  it('takes no run that claims another origin than its link', () => {
    const { proposer, go, texts } = proposing();
    proposer.takeRun(link(3, 1), run(1, 'forged'), 0);
    go();
    expect(texts()).toEqual([]);
  });

  it('keeps everything in order when raft refuses for a while', () => {
    const { forwarder, proposer, answers, go, texts } = proposing();
    proposer.takeRun(link(2, 1), run(1, 'a'), 0);
    forwarder.submit(body('own'), undefined, 100);
    answers.push('overloaded');
    expect(go()).toBe(0);
    expect(go()).toBe(1);
    expect(texts()).toEqual(['a own']);
    expect(go()).toBe(0);
  });

  it('lets renewals pass while proposals are held', () => {
    const { proposer, entries, go, texts } = proposing();
    proposer.takeRun(link(2, 1), run(1, 'a'), 0);
    proposer.takeRenewals({ origin: 2, incarnation: 1, ticket: 3, leases: [9] });
    go(true);
    expect(entries.map((entry) => [entry.renewals.length, entry.runs.length])).toEqual([[1, 0]]);
    go(false);
    expect(texts()).toEqual(['', 'a']);
  });
});

describe('the window of the forwarder', () => {
  it('is whole again when what was handed expired before it was applied', () => {
    const forwarder = new Forwarder(2, 1, 10);
    forwarder.retarget(1, 1, 1, 0);
    forwarder.submit(new Uint8Array(10), undefined, 100);
    forwarder.handed(forwarder.peek(1, 100, 100)!, 0);
    forwarder.submit(new Uint8Array(4), undefined, 900);
    expect(forwarder.peek(1, 100, 100)).toBe(undefined);
    forwarder.tick(200, 1000);
    forwarder.result(1, { kind: 'done', result: undefined } as never, 210);
    expect(forwarder.peek(1, 100, 100)).toMatchObject({ first: 2 });
  });
});

describe('renewals', () => {
  it('of a crowd leave as one group per interval', () => {
    const renewals = new Renewals(1, 1, 50);
    const told: string[] = [];
    const waiter = (name: string) => ({
      renewed: (alive: boolean) => told.push(`${name} ${alive}`),
      failed: () => told.push(`${name} failed`),
    });
    renewals.add(11, waiter('a'), 9000);
    const first = renewals.take(1000)!;
    renewals.add(12, waiter('b'), 9000);
    expect(renewals.take(1001)).toBe(undefined);
    renewals.renewed(first, [true]);
    expect(renewals.delayMs(1010)).toBe(40);
    expect(renewals.take(1010)).toBe(undefined);
    const second = renewals.take(1050)!;
    renewals.renewed(first, [false]);
    renewals.resend();
    expect(renewals.take(1060)).toEqual(second);
    renewals.renewed(second, [false]);
    expect(told).toEqual(['a true', 'b false']);
  });

  it('leave at once when none is in flight, however recent the last group is', () => {
    const renewals = new Renewals(1, 1, 50);
    const waiter = { renewed: () => {}, failed: () => {} };
    renewals.add(11, waiter, 9000);
    renewals.renewed(renewals.take(1000)!, [true]);
    renewals.add(12, waiter, 9000);
    expect(renewals.delayMs(1001)).toBe(0);
    expect(renewals.take(1001)).toMatchObject({ leases: [12] });
  });
});

describe('the image writer', () => {
  function writing() {
    const time = new VirtualTime();
    const batches: { sync: boolean; index: number; keys: string[] }[] = [];
    const pending: ((error: FileError | undefined) => void)[] = [];
    const durable: number[] = [];
    const write = (changes: readonly ImageChange[], sync: boolean, finish: () => void) => {
      const position = changes.find(({ key }) => key.length === POSITION_KEY.length)!;
      const keys = changes.filter(({ key }) => key.length > 1).map(({ key }) => toByteString(key));
      batches.push({ sync, index: decodePosition(position.value!).index, keys });
      pending.push(finish);
    };
    const writer = new ImageWriter({ write } as unknown as ImageStore, {
      clock: time,
      flushMs: 100,
      flushBytes: 10_000,
      syncMs: 1000,
      syncBytes: 1 << 20,
      written: (position) => position !== undefined && durable.push(position.index),
      failed: () => {},
    });
    const entry = (index: number, ...keys: string[]) => {
      writer.entryBegun();
      for (const key of keys) writer.set(key, body(`value of ${index}`));
      writer.entryDone({ index, term: 1, configuration });
    };
    return { time, writer, batches, pending, durable, entry };
  }

  it('coalesces per key for a while and cuts only at the end of an entry', () => {
    const { time, writer, batches, pending, entry } = writing();
    entry(1, 'k1', 'k2');
    entry(2, 'k1');
    writer.entryBegun();
    writer.set('k3', body('half'));
    time.advance(150);
    expect(batches).toEqual([]);
    writer.entryDone({ index: 3, term: 1, configuration });
    time.advance(100);
    expect(batches).toEqual([{ sync: false, index: 3, keys: ['k1', 'k2', 'k3'] }]);
    expect(toByteString(writer.unflushed('k1')!)).toBe('value of 2');
    pending.shift()!(undefined);
    expect(writer.unflushed('k1')).toBe(null);
    expect(writer.backlogBytes).toBe(0);
  });

  it('syncs now and then, also when nothing follows, and tells what is durable', () => {
    const { time, batches, pending, durable, entry } = writing();
    entry(1, 'k1');
    time.advance(100);
    pending.shift()!(undefined);
    expect(durable).toEqual([]);
    time.advance(1500);
    pending.shift()!(undefined);
    expect(batches.map(({ sync }) => sync)).toEqual([false, true]);
    expect(durable).toEqual([1]);
    time.advance(5000);
    expect(batches).toHaveLength(2);
  });

  it('writes one batch at a time and drains everything when asked', () => {
    const { writer, batches, pending, durable, entry } = writing();
    entry(1, 'x'.repeat(10_000));
    entry(2, 'y'.repeat(10_000));
    expect(batches).toHaveLength(1);
    let drained = false;
    writer.drain(() => {
      drained = true;
    });
    pending.shift()!(undefined);
    expect(drained).toBe(false);
    pending.shift()!(undefined);
    expect(drained).toBe(true);
    expect(durable).toEqual([2]);
  });
});
