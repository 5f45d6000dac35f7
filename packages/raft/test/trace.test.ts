import { expect, test } from 'vitest';
import type { TraceEvent } from '../src/index.ts';
import { SingleMember } from './single-member.ts';

test('each step of the algorithm is traced as plain data, one line of JSON each', () => {
  const events: TraceEvent[] = [];
  const member = new SingleMember({
    voters: [1, 2],
    settings: { trace: (event) => events.push(event) },
  });
  member.lead();
  member.propose('a');
  member.acknowledge(2, 2);
  member.step({ kind: 'heartbeat-response', from: 2, to: 1, term: 9, readRound: 0 });
  const read = events.map((event) => JSON.parse(JSON.stringify(event)) as TraceEvent);
  const seen = read.map(({ name, message }) => (message ? `${name} ${message.kind}` : name));
  expect(seen.filter((name) => name !== 'Ready')).toEqual([
    'InitState',
    'BecomePreCandidate',
    'Send vote',
    'Receive vote-response',
    'BecomeCandidate',
    'Send vote-response',
    'Send vote',
    'Receive vote-response',
    'Receive vote-response',
    'BecomeLeader',
    'Replicate',
    'Send append',
    'Send append-response',
    'Receive append-response',
    'Replicate',
    'Send append-response',
    'Receive append-response',
    'Receive append-response',
    'Commit',
    'Send append',
    'Receive heartbeat-response',
    'BecomeFollower',
  ]);
  const sent = read.find(({ name, message }) => name === 'Send' && message?.kind === 'append');
  expect(sent).toMatchObject({
    member: 1,
    role: 'leader',
    term: 1,
    vote: 1,
    commit: 0,
    lastIndex: 1,
  });
  expect(sent?.message).toMatchObject({ kind: 'append', to: 2, prevIndex: 0, entries: 1 });
});
