import { ETCD, type EtcdValue, valueBytes } from '@lockstep/adapter-etcd';
import { type Revision, toByteString } from '@lockstep/model';
import type { MemberReplica } from '@lockstep/replica';
import type { HistoryReference } from '@lockstep/state-machine';
import type { SimNode } from '../node.ts';
import type { World } from '../world.ts';
import type { Registers } from './registers.ts';

/**
 * HistoryReads: what a member says of former revisions of the etcd keyspace, and the values it
 * fetches for them from batches and image, are those of the canonical history.
 */
export class Versions {
  readonly #world: World;
  readonly #registers: Registers;
  reads = 0;
  compacted = 0;

  constructor(world: World, registers: Registers) {
    this.#world = world;
    this.#registers = registers;
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
    for (const key of this.#registers.keys(ETCD)) {
      const last = this.#registers.at(ETCD, key, revision);
      if (last?.text === undefined) continue;
      result.push({ name: `${key}@${last.revision}/${last.sub}`, value: last.text });
    }
    return result;
  }

  #fail(node: SimNode, what: string): void {
    this.#world.fail('HistoryReads', `member ${node.id} ${what}`);
  }
}

const nameOf = ({ key, revision, sub }: HistoryReference) => `${key}@${revision}/${sub}`;
const bytesOf = (value: unknown) => toByteString(valueBytes(value as EtcdValue));
