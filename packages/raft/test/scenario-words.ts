import { describeConfiguration } from '../src/configuration-change.ts';
import {
  type AppendTask,
  type Configuration,
  type Entry,
  EntryType,
  type Message,
} from '../src/index.ts';

/** What scenarios say of messages, entries and tasks; and messages read from such words. */

export function describeEntry(entry: Entry): string {
  if (entry.type === EntryType.Configuration) {
    const configuration = JSON.parse(Buffer.from(entry.data).toString()) as Configuration;
    return `${entry.index}/${entry.term} ${describeConfiguration(configuration)}`;
  }
  const kind = entry.type === EntryType.TermStart ? ' start' : '';
  return `${entry.index}/${entry.term}${kind} "${Buffer.from(entry.data).toString()}"`;
}

function positions(entries: readonly Entry[]): string {
  return entries.length === 0 ? 'none' : entries.map((e) => `${e.index}/${e.term}`).join(' ');
}

export function describeTask(task: AppendTask): string {
  const parts = [`writes #${task.sequence}`];
  if (task.snapshot) parts.push(`snapshot ${task.snapshot.index}/${task.snapshot.term}`);
  if (task.entries.length > 0) parts.push(`entries ${positions(task.entries)}`);
  const { hardState } = task;
  if (hardState)
    parts.push(`term ${hardState.term} vote ${hardState.vote} commit ${hardState.commit}`);
  if (!task.mustSync) parts.push('(no sync)');
  for (const message of task.after) parts.push(`then ${describe(message)}`);
  return parts.join(', ');
}

/** One message on one line, in the words of the contract. */
export function describe(message: Message): string {
  return `${message.kind} to ${message.to} term ${message.term}${details(message)}`;
}

function grantOf(response: Extract<Message, { kind: 'vote-response' }>): string {
  if (response.reject) return 'REFUSED';
  return response.conditional ? 'granted if all do' : 'granted';
}

function details(message: Message): string {
  switch (message.kind) {
    case 'append': {
      const { prevIndex, prevTerm, entries, commit, readRound } = message;
      const round = readRound > 0 ? ` round ${readRound}` : '';
      return ` after ${prevIndex}/${prevTerm} entries ${positions(entries)} commit ${commit}${round}`;
    }
    case 'append-response':
      if (!message.reject) return ` up to ${message.index}`;
      return ` REJECTS ${message.index} hint ${message.hintIndex}/${message.hintTerm}`;
    case 'heartbeat':
      return ` commit ${message.commit} round ${message.readRound}`;
    case 'heartbeat-response':
      return ` round ${message.readRound}`;
    case 'vote':
      return `${message.preVote ? ' PRE' : ''}${message.transfer ? ' TRANSFER' : ''} last ${message.lastIndex}/${message.lastTerm}`;
    case 'vote-response':
      return `${message.preVote ? ' PRE' : ''} ${grantOf(message)}`;
    case 'read-index':
      return ` read ${message.context.counter}`;
    case 'read-index-response':
      return ` read ${message.context.counter} ${message.index === 0 ? 'REFUSED' : `at ${message.index}`}`;
    case 'transfer':
      return ` target ${message.target}`;
    case 'timeout-now':
      return '';
  }
}

/** Where a message that a scenario makes up goes to, and which election it may answer. */
export interface Hearer {
  readonly id: number;
  readonly incarnation: number;
  readonly campaign: number;
}

/** Reads `append from 2 term 3 after 2/1 entries 3/2 commit 4`: the words that `describe` prints. */
export function heard(words: readonly string[], hearer: Hearer): Message {
  const [kind] = words;
  const word = (name: string) => words[words.indexOf(name) + 1] ?? '';
  const number = (name: string, otherwise = 0) =>
    words.includes(name) ? Number(word(name)) : otherwise;
  const position = (name: string) =>
    (words.includes(name) ? word(name) : '0/0').split('/').map(Number);
  const head = { from: number('from'), to: hearer.id, term: number('term') };
  const { incarnation, campaign } = hearer;
  const [hintIndex = 0, hintTerm = 0] = position('hint');
  const [lastIndex = 0, lastTerm = 0] = position('last');
  const [prevIndex = 0, prevTerm = 0] = position('after');
  const round = { readRound: number('round') };
  const vote = { preVote: words.includes('PRE'), campaign: number('campaign', campaign) };
  const reject = words.includes('REJECTS') || words.includes('REFUSED');
  switch (kind) {
    case 'append':
      return {
        kind,
        ...head,
        prevIndex,
        prevTerm,
        entries: entriesIn(words),
        commit: number('commit'),
        ...round,
      };
    case 'append-response':
      return {
        kind,
        ...head,
        index: number(reject ? 'REJECTS' : 'to'),
        reject,
        hintIndex,
        hintTerm,
      };
    case 'heartbeat':
      return { kind, ...head, commit: number('commit'), ...round };
    case 'heartbeat-response':
      return { kind, ...head, ...round };
    case 'vote': {
      const transfer = words.includes('TRANSFER');
      return {
        kind,
        ...head,
        ...vote,
        transfer,
        lastIndex,
        lastTerm,
        incarnation: number('life', 1),
      };
    }
    case 'vote-response':
      return {
        kind,
        ...head,
        ...vote,
        reject,
        conditional: false,
        incarnation: number('life', incarnation),
      };
    case 'timeout-now':
      return { kind, ...head };
    default:
      throw new Error(`a scenario cannot say ${words.join(' ')}`);
  }
}

/** The words behind `entries` that look like 3/2. */
function entriesIn(words: readonly string[]): Entry[] {
  const entries: Entry[] = [];
  if (!words.includes('entries')) return entries;
  for (const word of words.slice(words.indexOf('entries') + 1)) {
    if (!word.includes('/')) break;
    const [index = 0, term = 0] = word.split('/').map(Number);
    entries.push({ index, term, type: EntryType.Normal, data: Buffer.from(`said ${index}`) });
  }
  return entries;
}
