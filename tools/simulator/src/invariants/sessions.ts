import { NodeMode, type TreeValue, ZOOKEEPER_KEYSPACE } from '@lockstep/adapter-zookeeper';
import { LeaseKind, type Revision } from '@lockstep/model';
import type { AppliedTransaction, ChangeEvent, LeaseEndedEvent } from '@lockstep/state-machine';
import type { World } from '../world.ts';
import type { History } from './history.ts';

/**
 * SessionAtomic, on the canonical history: an ephemeral node is created by a session that lives,
 * and ends with it: in the transaction that ends a session all its nodes go, at one revision, and
 * none is left. What hangs on an etcd lease goes with it in the same way.
 */
export class Sessions {
  readonly #world: World;
  /** Ephemeral nodes by the id of their session. */
  readonly #nodes = new Map<bigint, Set<string>>();
  /** Keys by the handle of the lease they hang on. */
  readonly #leased = new Map<number, Set<string>>();
  readonly #ended = new Map<string, Revision>();
  ends = 0;

  constructor(world: World, history: History) {
    this.#world = world;
    history.listeners.push({ transaction: (transaction) => this.#transaction(transaction) });
  }

  /** True once the history holds the end of that lease or session. */
  hasEnded(kind: LeaseKind, id: bigint): boolean {
    return this.#ended.has(`${kind}:${id}`);
  }

  #transaction({ events, revision }: AppliedTransaction): void {
    for (const event of events) {
      if (event.kind === 'change') this.#change(event);
      else if (event.kind === 'lease-ended') this.#end(event, revision, events);
    }
  }

  #change({ keyspace, key, record, previous, revision }: ChangeEvent): void {
    const name = `${keyspace.id} ${key}`;
    if (previous !== undefined && previous.lease !== 0) {
      this.#leased.get(previous.lease)?.delete(name);
    }
    if (record !== undefined && record.lease !== 0) {
      const keys = this.#leased.get(record.lease) ?? new Set();
      this.#leased.set(record.lease, keys.add(name));
    }
    if (keyspace !== ZOOKEEPER_KEYSPACE) return;
    const [now, before] = [ephemeralOf(record?.value), ephemeralOf(previous?.value)];
    if (before !== undefined && now === undefined) this.#nodes.get(before)?.delete(key);
    if (now === undefined || before !== undefined) return;
    if (this.hasEnded(LeaseKind.ZooKeeper, now)) {
      this.#fail(`${key} is created at ${revision} for session ${now}, which has ended`);
    }
    const nodes = this.#nodes.get(now) ?? new Set();
    this.#nodes.set(now, nodes.add(key));
  }

  #end(
    { lease: { kind, id, handle } }: LeaseEndedEvent,
    revision: Revision,
    events: AppliedTransaction['events'],
  ): void {
    this.ends += 1;
    this.#ended.set(`${kind}:${id}`, revision);
    const left = this.#leased.get(handle);
    if (left !== undefined && left.size > 0) {
      this.#fail(`lease ${kind}:${id} ends at ${revision} without ${[...left].join(', ')}`);
    }
    this.#leased.delete(handle);
    const nodes = this.#nodes.get(id);
    if (kind === LeaseKind.ZooKeeper && nodes !== undefined && nodes.size > 0) {
      this.#fail(`session ${id} ends at ${revision} without ${[...nodes].join(', ')}`);
    }
    if (kind === LeaseKind.ZooKeeper) this.#nodes.delete(id);
    let gone: Revision | undefined;
    for (const event of events) {
      if (event.kind !== 'change' || event.previous?.lease !== handle) continue;
      if (event.record !== undefined) continue;
      gone ??= event.revision;
      if (event.revision === gone) continue;
      this.#fail(`lease ${kind}:${id} ends at revisions ${gone} and ${event.revision}`);
    }
  }

  #fail(what: string): void {
    this.#world.fail('SessionAtomic', what);
  }
}

/** Session that owns a node; undefined for other records. */
function ephemeralOf(value: unknown): bigint | undefined {
  const tree = value as TreeValue | undefined;
  if (tree?.kind !== 'node' || tree.mode !== NodeMode.Ephemeral) return undefined;
  return tree.owner;
}
