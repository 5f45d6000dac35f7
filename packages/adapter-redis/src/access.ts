import { type ByteString, invariant, NO_LEASE } from '@lockstep/model';
import { mayTake, type PutOptions, type Transaction } from '@lockstep/state-machine';
import { dropElements } from './collections.ts';
import type { Execution } from './command.ts';
import { CommandError, WRONG_TYPE } from './errors.ts';
import type { Expiry } from './expiry.ts';
import { keyspaceOf, type RedisRecord } from './keyspaces.ts';
import { type RedisValue, type SetValue, stringValue, writtenBytes } from './value.ts';

/** The transaction of a command that writes; the door never runs those behind a barrier. */
export function writing(execution: Execution): Transaction {
  invariant(execution.tx !== undefined, 'a command that writes ran on a read-only view');
  return execution.tx;
}

/** NX: nobody has the key, nor a right to have it before us (option lock-barging). */
export function isFree(execution: Execution, key: ByteString): boolean {
  const { reader, db } = execution;
  return execution.get(key) === undefined && mayTake(reader, keyspaceOf(db), key);
}

/** Text of a string record; throws WRONGTYPE for other kinds. */
export function textOf(record: RedisRecord): ByteString {
  const { value } = record;
  if (value.kind !== 'string') throw new CommandError(WRONG_TYPE);
  return value.text;
}

/** The string at `key`, undefined when there is none; throws WRONGTYPE. */
export function getText(execution: Execution, key: ByteString): ByteString | undefined {
  const record = execution.get(key);
  if (record === undefined) return undefined;
  const text = textOf(record);
  execution.spendBytes(text.length);
  return text;
}

/** SET: a whole new value, the former deadline, lease and hold gone. */
export function replaceText(
  execution: Execution,
  key: ByteString,
  text: ByteString,
  expiry?: Expiry,
): RedisRecord {
  const value: RedisValue =
    expiry?.absolute === undefined
      ? stringValue(text)
      : { ...stringValue(text), absolute: expiry.absolute };
  dropFormer(execution, key);
  const options: PutOptions = { deadline: expiry?.deadline ?? 0, lease: NO_LEASE };
  return writing(execution).put(keyspaceOf(execution.db), key, value, options);
}

/** APPEND, INCR …: other text, same deadline, lease and hold. */
export function updateText(execution: Execution, key: ByteString, text: ByteString): RedisRecord {
  execution.spendBytes(text.length);
  const value = execution.get(key)?.value;
  const next: RedisValue = value?.kind === 'string' ? { ...value, text } : stringValue(text);
  return writing(execution).put(keyspaceOf(execution.db), key, next);
}

/** Moves a record's deadline and nothing else. */
export function setExpiry(
  execution: Execution,
  key: ByteString,
  record: RedisRecord,
  expiry: Expiry | undefined,
): void {
  execution.spendBytes(writtenBytes(record.value));
  const { absolute: _, ...rest } = record.value;
  const value: RedisValue =
    expiry?.absolute === undefined ? rest : { ...rest, absolute: expiry.absolute };
  const deadline = expiry?.deadline ?? 0;
  writing(execution).put(keyspaceOf(execution.db), key, value, { deadline });
}

/** Deletes with its notification; false when there was nothing. */
export function deleteKey(execution: Execution, key: ByteString): boolean {
  dropFormer(execution, key);
  const gone = writing(execution).delete(keyspaceOf(execution.db), key) !== undefined;
  if (gone) execution.notify('g', 'del', key);
  return gone;
}

/** What stands at `key` is about to be deleted or replaced by something else. */
export function dropFormer(execution: Execution, key: ByteString, db = execution.db): void {
  const former = execution.reader.get(keyspaceOf(db), key);
  if (former !== undefined) dropElements(writing(execution), db, former.value);
}

/** The set at `key`, undefined when there is none; throws WRONGTYPE for other kinds. */
export function getSet(execution: Execution, key: ByteString): SetValue | undefined {
  const value = execution.get(key)?.value;
  if (value !== undefined && value.kind !== 'set') throw new CommandError(WRONG_TYPE);
  return value;
}
