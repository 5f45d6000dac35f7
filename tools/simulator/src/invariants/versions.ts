import { ETCD, type EtcdValue, valueBytes } from '@lockstep/adapter-etcd';
import { type ByteString, type Revision, toByteString } from '@lockstep/model';
import type { MemberReplica } from '@lockstep/replica';
import type { HistoryReference } from '@lockstep/state-machine';
import type { SimNode } from '../node.ts';
import type { World } from '../world.ts';
import type { History } from './history.ts';

interface Version {
  readonly revision: Revision;
  readonly sub: number;
  /** Undefined for a deletion. */
  readonly value: string | undefined;
}

/**
 * HistoryReads: what a member says of former revisions of the etcd keyspace, and the values it
 * fetches for them from batches and image, are those of the canonical history.
 */
export class Versions {
  readonly #world: World;
  readonly #versions = new Map<ByteString, Version[]>();
  reads = 0;
  compacted = 0;

  constructor(world: World, history: History) {
    this.#world = world;
    history.listeners.push({
      transaction: ({ events }) => {
        for (const event of events) {
          if (event.kind !== 'change' || event.keyspace !== ETCD) continue;
          const { key, revision, sub, record } = event;
          const value = record === undefined ? undefined : bytesOf(record.value);
          const versions = this.#versions.get(key) ?? [];
          this.#versions.set(key, versions);
          versions.push({ revision, sub, value });
        }
      },
    });
  }

  /** Reads every key at a revision that is not compacted. */
  read(node: SimNode, replica: MemberReplica, revision: Revision, done: () => void): void {
    const { state } = replica;
    const { life } = node;
    const found: HistoryReference[] = [];
    state.rangeAt(ETCD, '', undefined, revision, (reference) => {
      found.push(reference);
      return true;
    });
    const wanted = this.#at(revision);
    const [have, want] = [found.map(nameOf).join(), wanted.map(({ name }) => name).join()];
    if (have !== want) {
      this.#fail(node, `has at revision ${revision}: ${have}; the history: ${want}`);
    }
    replica.readHistory(found, (error, records) => {
      if (!life.alive) return;
      if (error === undefined) {
        this.reads += 1;
        for (let i = 0; i < records.length; i++) {
          if (bytesOf(records[i]!.value) === wanted[i]?.value) continue;
          this.#fail(node, `reads a wrong value of ${nameOf(found[i]!)}`);
        }
      } else if (error.code === 'COMPACTED') {
        this.compacted += 1;
        // The state is that of the moment: an installed snapshot has another.
        if (replica.state.compactedRevision(ETCD) <= revision) {
          this.#fail(node, `calls revision ${revision} compacted, which it is not`);
        }
      }
      done();
    });
  }

  #at(revision: Revision): { readonly name: string; readonly value: string }[] {
    const result: { name: string; value: string }[] = [];
    for (const key of [...this.#versions.keys()].sort()) {
      const versions = this.#versions.get(key)!;
      const last = versions.findLast((version) => version.revision <= revision);
      if (last?.value === undefined) continue;
      result.push({ name: `${key}@${last.revision}/${last.sub}`, value: last.value });
    }
    return result;
  }

  #fail(node: SimNode, what: string): void {
    this.#world.fail('HistoryReads', `member ${node.id} ${what}`);
  }
}

const nameOf = ({ key, revision, sub }: HistoryReference) => `${key}@${revision}/${sub}`;
const bytesOf = (value: unknown) => toByteString(valueBytes(value as EtcdValue));
