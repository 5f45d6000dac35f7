import type { ByteString } from '@lockstep/model';
import { writing } from '../access.ts';
import type { CommandSpec, Execution } from '../command.ts';
import type { DoorSession } from '../door-session.ts';
import { CommandError } from '../errors.ts';
import { globMatches } from '../glob.ts';
import { DOOR, type MessageEvent } from '../notification.ts';
import type { SubscriptionKind } from '../pubsub.ts';
import type { Reply } from '../reply.ts';

/** Counted apart for shard channels, as in Redis. */
function countShown(session: DoorSession, kind: SubscriptionKind): number {
  const { counts } = session;
  return kind === 'shard' ? counts.shard : counts.channel + counts.pattern;
}

/** Longer names are nobody's: they would be gossiped, and patterns tried on each message. */
const NAME_BYTES_MAX = 4096;

function subscriber(kind: SubscriptionKind, word: string) {
  return (session: DoorSession, argv: readonly ByteString[]): Reply => {
    if (argv.some((name) => name.length > NAME_BYTES_MAX)) {
      throw new CommandError(`ERR name is longer than ${NAME_BYTES_MAX} bytes`);
    }
    const items = argv.slice(1).map((name): Reply => {
      session.subscribe(kind, name);
      return { kind: 'push', items: [word, name, countShown(session, kind)] };
    });
    return { kind: 'many', items };
  };
}

function unsubscriber(kind: SubscriptionKind, word: string) {
  return (session: DoorSession, argv: readonly ByteString[]): Reply => {
    const names = argv.length > 1 ? argv.slice(1) : session.subscriptions(kind);
    if (names.length === 0) {
      return { kind: 'push', items: [word, null, countShown(session, kind)] };
    }
    const items = names.map((name): Reply => {
      session.unsubscribe(kind, name);
      return { kind: 'push', items: [word, name, countShown(session, kind)] };
    });
    return { kind: 'many', items };
  };
}

/** Its own number is known only at the door: within scripts PUBLISH answers 0 (design §8). */
function publish(sharded: boolean) {
  return (execution: Execution, argv: readonly ByteString[]): Reply => {
    const event: MessageEvent = {
      kind: 'message',
      channel: argv[1]!,
      message: argv[2]!,
      sharded,
    };
    writing(execution).emit(DOOR, event);
    return 0;
  };
}

function receivers(sharded: boolean) {
  return (session: DoorSession, argv: readonly ByteString[]): Reply =>
    session.door.pubsub.receivers(argv[1]!, sharded);
}

function channels(kind: SubscriptionKind) {
  return (session: DoorSession, argv: readonly ByteString[]): Reply => {
    const pattern = argv[2];
    const names = session.door.pubsub.names(kind);
    return pattern === undefined ? names : names.filter((name) => globMatches(pattern, name));
  };
}

function numsub(kind: SubscriptionKind) {
  return (session: DoorSession, argv: readonly ByteString[]): Reply =>
    argv.slice(2).flatMap((name): Reply[] => [name, session.door.pubsub.count(kind, name)]);
}

const NO_KEYS = [0, 0, 0] as const;

function listening(
  name: string,
  arity: number,
  summary: string,
  door: NonNullable<CommandSpec['door']>,
): CommandSpec {
  const flags = ['pubsub', 'noscript', 'loading', 'stale', 'no_multi'] as const;
  return { name, arity, flags, keys: NO_KEYS, summary, door, exclusive: true };
}

function publishing(name: string, sharded: boolean, summary: string): CommandSpec {
  return {
    name,
    arity: 3,
    flags: ['pubsub', 'loading', 'stale', 'fast', 'may_replicate'],
    keys: NO_KEYS,
    summary,
    run: publish(sharded),
    completed: receivers(sharded),
  };
}

function asking(
  name: string,
  arity: number,
  summary: string,
  door: NonNullable<CommandSpec['door']>,
): [string, CommandSpec] {
  const flags = ['pubsub', 'loading', 'stale'] as const;
  const spec = { name: `pubsub|${name}`, arity, flags, keys: NO_KEYS, summary, door };
  return [name, { ...spec, exclusive: true }];
}

const asks = new Map<string, CommandSpec>([
  asking('channels', -2, 'Lists channels with subscribers.', channels('channel')),
  asking('numsub', -2, 'Counts subscribers of channels.', numsub('channel')),
  asking('numpat', 2, 'Counts patterns.', ({ door }) => door.pubsub.names('pattern').length),
  asking('shardchannels', -2, 'Lists shard channels with subscribers.', channels('shard')),
  asking('shardnumsub', -2, 'Counts subscribers of shard channels.', numsub('shard')),
]);

export const pubsubCommands: readonly CommandSpec[] = [
  listening('subscribe', -2, 'Listens to channels.', subscriber('channel', 'subscribe')),
  listening('psubscribe', -2, 'Listens to patterns.', subscriber('pattern', 'psubscribe')),
  listening('ssubscribe', -2, 'Listens to shard channels.', subscriber('shard', 'ssubscribe')),
  listening('unsubscribe', -1, 'Stops listening.', unsubscriber('channel', 'unsubscribe')),
  listening('punsubscribe', -1, 'Stops listening.', unsubscriber('pattern', 'punsubscribe')),
  listening('sunsubscribe', -1, 'Stops listening.', unsubscriber('shard', 'sunsubscribe')),
  publishing('publish', false, 'Sends a message to a channel.'),
  publishing('spublish', true, 'Sends a message to a shard channel.'),
  {
    name: 'pubsub',
    arity: -2,
    flags: [],
    keys: NO_KEYS,
    summary: 'Looks at subscriptions.',
    subcommands: asks,
  },
];
