import type { ByteString } from '@lockstep/model';
import type { ClusterOption, Transaction } from '@lockstep/state-machine';

/** Name of this door in door events and gossip. */
export const DOOR = 'redis';

/** What the door's procedures say to every member (design §8). */
export type RedisDoorEvent = MessageEvent | NotificationEvent | ScriptLogEvent;

/** redis.log of a script; written by the member whose client ran it. */
export interface ScriptLogEvent {
  readonly kind: 'script-log';
  /** 0 debug … 3 warning. */
  readonly level: number;
  readonly text: ByteString;
}

/** A published message. */
export interface MessageEvent {
  readonly kind: 'message';
  readonly channel: ByteString;
  readonly message: ByteString;
  /** Published with SPUBLISH: only for SSUBSCRIBE. */
  readonly sharded: boolean;
}

/** A keyspace notification; the flags say which of its two channels are on. */
export interface NotificationEvent {
  readonly kind: 'notification';
  readonly db: number;
  readonly event: ByteString;
  readonly key: ByteString;
  readonly keyspace: boolean;
  readonly keyevent: boolean;
}

/** Classes that `A` stands for. */
const ALL_CLASSES = 'g$lshzxetd';
const KNOWN = `${ALL_CLASSES}KEAmn`;

/** Letters of Redis' directive. Replicated, since it changes what apply emits. */
export const notifyKeyspaceEvents: ClusterOption<string> = {
  name: 'redis-notify-keyspace-events',
  default: '',
  doc: 'Keyspace notifications, as letters of the Redis directive notify-keyspace-events.',
  alphabet: KNOWN,
};

/** The directive in the order in which Redis shows it; undefined when a letter is unknown. */
export function normalizeNotifyFlags(text: string): string | undefined {
  let flags = '';
  for (const letter of text) {
    if (!KNOWN.includes(letter)) return undefined;
    flags += letter === 'A' ? ALL_CLASSES : letter;
  }
  const has = (letter: string) => flags.includes(letter);
  const all = [...ALL_CLASSES].every(has);
  const classes = all ? 'A' : [...ALL_CLASSES].filter(has).join('');
  const rest = ['K', 'E', 'm', 'n'].filter(has).join('');
  return classes + rest;
}

/** Emits a keyspace notification of class `letter` if that class is on. */
export function notifyKeyspace(
  tx: Transaction,
  db: number,
  letter: string,
  event: ByteString,
  key: ByteString,
): void {
  const flags = tx.option(notifyKeyspaceEvents);
  if (flags === '') return;
  const all = flags.includes('A') && ALL_CLASSES.includes(letter);
  if (!all && !flags.includes(letter)) return;
  const keyspace = flags.includes('K');
  const keyevent = flags.includes('E');
  if (!keyspace && !keyevent) return;
  const payload: NotificationEvent = {
    kind: 'notification',
    db,
    event,
    key,
    keyspace,
    keyevent,
  };
  tx.emit(DOOR, payload);
}
