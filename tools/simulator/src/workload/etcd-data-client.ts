import { ETCD, etcdApi } from '@lockstep/adapter-etcd';
import type { EtcdConnection } from '../doors/etcd-connection.ts';
import { bytes, EtcdDoorClient, textOf } from './etcd-door-client.ts';

const KEYS = 8;
const COMPACTED = 'required revision has been compacted';
const FUTURE = 'required revision is a future revision';

/** Puts, deletes, transactions and ranges of all consistency levels, and compactions. */
export class EtcdDataClient extends EtcdDoorClient {
  /** A revision that was there for certain. */
  #revision = 1;

  protected use(connection: EtcdConnection): void {
    const draw = this.context.stream.below(100);
    if (draw < 30) this.#put(connection);
    else if (draw < 50) this.#get(connection);
    else if (draw < 58) this.#list(connection);
    else if (draw < 66) this.#former(connection);
    else if (draw < 82) this.#compareAndPut(connection);
    else if (draw < 92) this.#delete(connection);
    else if (draw < 94) this.#compact(connection);
    else {
      this.leave();
      this.done();
    }
  }

  #key(): string {
    return `e${this.context.stream.below(KEYS)}`;
  }

  #saw(revision: number): void {
    this.#revision = Math.max(this.#revision, revision);
  }

  /** The value of an acknowledged put stands at the revision that its header names. */
  #wrote(key: string, text: string, revision: number, invoked: { floor: number }): number {
    const { realTime } = this.context.oracle.promises;
    const version = realTime.wrote(this.witness, ETCD, key, text, invoked);
    this.#saw(revision);
    if (version !== undefined && version.revision !== revision) {
      const what = `put at ${version.revision}, its header says ${revision}`;
      this.#wrong(`${key}: ${what}`);
    }
    return version?.revision ?? 0;
  }

  #wrong(what: string): void {
    this.context.world.fail('ExactRead', `${this.context.name}: ${what}`);
  }

  #at(key: string, revision: number): string | undefined {
    return this.context.oracle.promises.registers.at(ETCD, key, revision)?.text;
  }

  #put(connection: EtcdConnection): void {
    const { promises } = this.context.oracle;
    const [key, text] = [this.#key(), this.unique()];
    const invoked = promises.realTime.invoke();
    const request = { key: bytes(key), value: bytes(text), prevKv: true };
    connection.unary(etcdApi.KV.put, request, (error, response) => {
      this.expect('put', error);
      if (response !== undefined) {
        const revision = this.#wrote(key, text, response.header?.revision ?? 0, invoked);
        const previous = response.prevKv && textOf(response.prevKv.value);
        const before = this.#at(key, revision - 1);
        if (previous !== before) this.#wrong(`${key} was ${before}, prev_kv says ${previous}`);
      }
      this.done();
    });
  }

  /** One key: linearizable, or local and then exact at the revision it names. */
  #get(connection: EtcdConnection): void {
    const { promises } = this.context.oracle;
    const serializable = this.context.stream.chance(0.4);
    const key = this.#key();
    const invoked = promises.realTime.invoke();
    connection.unary(etcdApi.KV.range, { key: bytes(key), serializable }, (error, response) => {
      this.expect('range', error);
      if (response !== undefined) {
        const revision = response.header?.revision ?? 0;
        const text = response.kvs[0] && textOf(response.kvs[0].value);
        const there = this.#at(key, revision);
        if (text !== there) this.#wrong(`${key} at ${revision}: ${text}, it was ${there}`);
        if (!serializable) {
          promises.realTime.sawRevision(this.witness, revision, invoked);
          promises.realTime.read(this.witness, ETCD, key, text, invoked);
        }
        this.#saw(revision);
      }
      this.done();
    });
  }

  /** All keys of the workload at one revision. */
  #list(connection: EtcdConnection): void {
    const { promises } = this.context.oracle;
    const invoked = promises.realTime.invoke();
    const request = { key: bytes('e'), rangeEnd: bytes('f') };
    connection.unary(etcdApi.KV.range, request, (error, response) => {
      this.expect('range', error);
      if (response !== undefined) {
        const revision = response.header?.revision ?? 0;
        promises.realTime.sawRevision(this.witness, revision, invoked);
        this.#checkList(response.kvs, revision);
      }
      this.done();
    });
  }

  /** As of a revision of the past, or one that is not there yet. */
  #former(connection: EtcdConnection): void {
    const { stream, oracle } = this.context;
    const revision = Math.max(1, this.#revision - stream.below(80) + stream.below(5));
    const request = { key: bytes('e'), rangeEnd: bytes('f'), revision };
    const linearizable = stream.chance(0.5);
    connection.unary(
      etcdApi.KV.range,
      { ...request, serializable: !linearizable },
      (error, response) => {
        this.expect('range in the past', error, COMPACTED, FUTURE);
        if (response !== undefined) this.#checkList(response.kvs, revision);
        else if (error?.message.includes(FUTURE) && linearizable) {
          const known = oracle.promises.registers.revisionThrough(this.witness.seen);
          if (revision <= known) this.#wrong(`revision ${revision} of ${known} is in the future`);
        }
        this.done();
      },
    );
  }

  #checkList(kvs: readonly { key: Buffer; value: Buffer }[], revision: number): void {
    const { registers } = this.context.oracle.promises;
    const have = kvs.map(({ key, value }) => `${textOf(key)}=${textOf(value)}`).join();
    const want: string[] = [];
    for (const key of registers.keys(ETCD)) {
      if (key < 'e' || key >= 'f') continue;
      const text = this.#at(key, revision);
      if (text !== undefined) want.push(`${key}=${text}`);
    }
    if (have !== want.join()) this.#wrong(`list at ${revision}: ${have}; it was ${want.join()}`);
  }

  /** What a successful comparison replaces is what was read before. */
  #compareAndPut(connection: EtcdConnection): void {
    const { promises } = this.context.oracle;
    const [key, text] = [this.#key(), this.unique()];
    connection.unary(etcdApi.KV.range, { key: bytes(key), serializable: true }, (error, read) => {
      this.expect('range', error);
      if (read === undefined || connection.isOver) {
        this.done();
        return;
      }
      const modRevision = read.kvs[0]?.modRevision ?? 0;
      const invoked = promises.realTime.invoke();
      const put = { key: bytes(key), value: bytes(text), ...PLAIN };
      const compare = { result: 0, target: 2, key: bytes(key), modRevision, rangeEnd: NOTHING };
      const request = { compare: [compare], success: [{ requestPut: put }], failure: [] };
      connection.unary(etcdApi.KV.txn, request as never, (failed, response) => {
        this.expect('txn', failed);
        if (response?.succeeded) {
          const revision = this.#wrote(key, text, response.header?.revision ?? 0, invoked);
          const before = promises.registers.at(ETCD, key, revision - 1);
          const replaced = before?.text === undefined ? 0 : before.revision;
          if (replaced !== modRevision) {
            const what = `${key}: compared ${modRevision}, replaced ${replaced}`;
            this.context.world.fail('CompareAndSet', `${this.context.name}: ${what}`);
          }
        }
        this.done();
      });
    });
  }

  #delete(connection: EtcdConnection): void {
    const key = this.#key();
    const request = { key: bytes(key), prevKv: true };
    connection.unary(etcdApi.KV.deleteRange, request, (error, response) => {
      this.expect('delete', error);
      const revision = response?.header?.revision ?? 0;
      const previous = response?.prevKvs[0];
      if (previous !== undefined) {
        const before = this.#at(key, revision - 1);
        if (textOf(previous.value) !== before || this.#at(key, revision) !== undefined) {
          this.#wrong(`${key} deleted at ${revision}: prev_kv is not ${before}`);
        }
      }
      this.done();
    });
  }

  #compact(connection: EtcdConnection): void {
    const revision = Math.max(1, this.#revision - this.context.stream.below(60));
    connection.unary(etcdApi.KV.compact, { revision }, (error) => {
      this.expect('compact', error, COMPACTED, FUTURE);
      this.done();
    });
  }
}

const NOTHING = Buffer.alloc(0);
const PLAIN = { lease: 0n, prevKv: false, ignoreValue: false, ignoreLease: false };
