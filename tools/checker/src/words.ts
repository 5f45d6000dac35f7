import type { Operation, Value } from './operation.ts';

const VALUE_SHOWN_MAX = 40;

const quote = (value: Value | undefined): string =>
  value === null || value === undefined
    ? 'nothing'
    : String(value).length > VALUE_SHOWN_MAX
      ? `'${String(value).slice(0, VALUE_SHOWN_MAX)}…'`
      : `'${value}'`;
const seconds = (ns: number): string => `${(ns / 1e9).toFixed(6)} s`;
const at = (revision: number | undefined): string =>
  revision === undefined ? '' : ` at revision ${revision}`;

/** One operation in words: who, where, what, what was told, and when. */
export function describe(operation: Operation): string {
  const { client, door, call, return: end, outcome } = operation;
  const when =
    operation.op === 'event' || operation.op === 'progress'
      ? `at ${seconds(end)}`
      : `from ${seconds(call)} to ${seconds(end)}`;
  const told =
    outcome === 'ok'
      ? answer(operation)
      : outcome === 'fail'
        ? ' and was refused'
        : ' and was never told the outcome';
  return `${client} at ${door} ${request(operation)}${told}, ${when}`;
}

function request(operation: Operation): string {
  const { key } = operation;
  switch (operation.op) {
    case 'read':
      return `read ${key}${operation.weak ? ' locally' : ''}`;
    case 'write':
      return `wrote ${key} = ${quote(operation.value)}`;
    case 'cas': {
      const expected = `${quote(operation.expected)}${at(operation.expectedMod)}`;
      return `wrote ${key} = ${quote(operation.value)} if it was ${expected}`;
    }
    case 'delete':
      return `deleted ${key}`;
    case 'add':
      return `added ${operation.value} to ${key}`;
    case 'acquire':
      return `asked for lock ${key} as ${operation.owner}`;
    case 'extend':
      return `extended lock ${key} with token ${operation.token} by ${operation.ttlMs} ms`;
    case 'release':
      return `released lock ${key} with token ${operation.token}`;
    case 'guarded': {
      const { lock, token, value } = operation;
      return `wrote ${key} = ${quote(value)} under token ${token} of ${lock}`;
    }
    case 'grant':
      return `opened lease ${key} of ${operation.ttlMs} ms`;
    case 'renew':
      return `renewed lease ${key} of ${operation.ttlMs} ms`;
    case 'revoke':
      return `gave back lease ${key}`;
    case 'gone':
      return `found lease ${key} ended`;
    case 'watch':
      return `opened stream ${key} of ${operation.prefix}* from revision ${operation.from}`;
    case 'event':
      return operation.value === undefined
        ? `stream ${key} told that ${operation.subject} changed`
        : `stream ${key} told ${operation.subject} = ${quote(operation.value)}`;
    case 'progress':
      return `stream ${key} was complete`;
  }
}

function answer(operation: Operation): string {
  const where = at(operation.revision);
  switch (operation.op) {
    case 'read': {
      const written = operation.mod === undefined ? '' : ` written${at(operation.mod)}`;
      return ` and got ${quote(operation.result)}${written}${where}`;
    }
    case 'cas':
      if (operation.result) return ` and did${where}`;
      return operation.actual === undefined
        ? ` and could not${where}`
        : ` and found ${quote(operation.actual)}${at(operation.mod)}${where}`;
    case 'add':
      return ` and got ${operation.result}${where}`;
    case 'acquire':
      return operation.result == null ? ' and it was held' : ` and got token ${operation.result}`;
    case 'delete':
      return `${operation.result ? '' : ' and it was not there'}${where}`;
    case 'extend':
    case 'release':
      return operation.result ? '' : ' and did not hold it any more';
    case 'guarded':
      return operation.result ? ` and was accepted${where}` : ' and was refused as stale';
    case 'grant':
    case 'renew':
      return operation.result === false ? ' and there was none' : '';
    default:
      return where;
  }
}
