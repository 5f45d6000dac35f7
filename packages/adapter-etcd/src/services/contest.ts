import type { ByteString, Revision } from '@lockstep/model';
import type { ChangeEvent } from '@lockstep/state-machine';
import { CommandReply, type Door } from '../door.ts';
import { Compare_CompareResult, Compare_CompareTarget, type TxnRequest } from '../gen/rpc.ts';
import { type KeyRange, keyRange, prefixEnd } from '../key-range.ts';
import { ETCD, type EtcdRecord } from '../keyspace.ts';
import { leaseHex } from '../locks.ts';
import { writeDelete, writeTxn } from '../operation.ts';
import { ProcedureId } from '../procedures/outcome.ts';
import type { TxnResult } from '../procedures/txn.ts';
import { keyBytes } from '../replies.ts';
import { type Call, type RpcError, rpcError } from '../session.ts';
import type { Subscriber } from '../watch/hub.ts';

/** A contender's key is there and nobody came before it. */
export interface Held {
  readonly key: ByteString;
  /** Create revision of the key: its fencing token. */
  readonly revision: Revision;
  readonly record: EtcdRecord;
}

export interface ContestRequest {
  /** Keys of contenders are `name/` and their lease id in hex. */
  readonly name: ByteString;
  readonly leaseId: bigint;
  readonly value: Buffer;
  /** Puts `value` again when the contender's key exists with another one (elections do). */
  readonly proclaims: boolean;
}

/** A transaction that does `success` if the key's create revision is `revision`. */
export function ifCreatedAt(
  key: ByteString,
  revision: Revision,
  success: TxnRequest['success'],
  failure: TxnRequest['failure'] = [],
): TxnRequest {
  const compare = {
    result: Compare_CompareResult.EQUAL,
    target: Compare_CompareTarget.CREATE,
    key: keyBytes(key),
    createRevision: revision,
    rangeEnd: Buffer.alloc(0),
  };
  return { compare: [compare], success, failure };
}

/** A put as an operation of a transaction. */
export function putOperation(key: ByteString, value: Buffer, lease: bigint): TxnRequest['success'] {
  const requestPut = {
    key: keyBytes(key),
    value,
    lease,
    prevKv: false,
    ignoreValue: false,
    ignoreLease: false,
  };
  return [{ requestPut }];
}

/** Proposes a transaction of the server's own. */
export function submitTxn(
  door: Door,
  request: TxnRequest,
  done: (error: RpcError | undefined, result?: TxnResult) => void,
): void {
  const writer = door.command(ProcedureId.Txn);
  writeTxn(writer, request);
  const reply = new CommandReply<TxnResult, TxnResult>(done, (result) => done(undefined, result));
  door.submit(writer, reply, done);
}

/** Calls back once when a key is deleted or events were skipped. */
class DeletionWatch implements Subscriber {
  readonly range: KeyRange;
  readonly #look: () => void;
  #deleted = false;

  constructor(key: ByteString, look: () => void) {
    this.range = keyRange(key, '');
    this.#look = look;
  }

  offer(event: ChangeEvent): boolean {
    if (event.record !== undefined || this.#deleted) return false;
    this.#deleted = true;
    return true;
  }

  flush(): void {
    this.#look();
  }

  skipped(): void {
    this.#look();
  }
}

/**
 * The waiting half of the mutex and election recipes, run by the server: create the key unless it
 * is there, then wait for the deletion of the one key created last before it, and look again.
 * Each waiter watches its predecessor only, so a release wakes one.
 */
export class Contest {
  readonly #door: Door;
  readonly #request: ContestRequest;
  readonly #call: Call;
  readonly #done: (error: RpcError | undefined, held?: Held) => void;
  readonly key: ByteString;
  readonly #prefix: ByteString;
  #revision: Revision = 0;
  /** This call made the key, so it takes it away when the client gives up. */
  #created = false;
  #over = false;
  #watches: DeletionWatch[] = [];

  constructor(
    door: Door,
    request: ContestRequest,
    call: Call,
    done: (error: RpcError | undefined, held?: Held) => void,
  ) {
    this.#door = door;
    this.#request = request;
    this.#call = call;
    this.#done = done;
    this.#prefix = `${request.name}/`;
    this.key = this.#prefix + leaseHex(request.leaseId);
    call.onCancelled(() => this.#giveUp());
    this.#enter();
  }

  #enter(): void {
    const { value, leaseId } = this.#request;
    const put = putOperation(this.key, value, leaseId);
    submitTxn(this.#door, ifCreatedAt(this.key, 0, put), (error, result) => {
      if (error !== undefined) return this.#finish(error);
      const record = this.#own();
      this.#created = result!.succeeded;
      this.#revision = record?.createRevision ?? 0;
      if (this.#call.cancelled) return this.#giveUp();
      return this.#proclaimIfNeeded(record);
    });
  }

  #own(): EtcdRecord | undefined {
    return this.#door.replica.state.get(ETCD, this.key);
  }

  #proclaimIfNeeded(record: EtcdRecord | undefined): void {
    const { proclaims, value, leaseId } = this.#request;
    if (!proclaims || this.#created || record === undefined) {
      this.#look();
      return;
    }
    const put = putOperation(this.key, value, leaseId);
    submitTxn(this.#door, ifCreatedAt(this.key, this.#revision, put), (error) => {
      if (error !== undefined) this.#finish(error);
      else this.#look();
    });
  }

  /** Owner, waiter, or out of it: decided on local state, which holds our own key already. */
  #look(): void {
    if (this.#over) return;
    this.#unwatch();
    const record = this.#own();
    if (record === undefined || record.createRevision !== this.#revision) {
      this.#finish(rpcError('SESSION_EXPIRED'));
      return;
    }
    const predecessor = this.#predecessor();
    if (predecessor === undefined) {
      this.#finish(undefined, { key: this.key, revision: this.#revision, record });
      return;
    }
    const look = (): void => this.#look();
    // The own key goes with its lease: then there is nothing left to wait for.
    this.#watches = [new DeletionWatch(predecessor, look), new DeletionWatch(this.key, look)];
    for (const watch of this.#watches) this.#door.hub.add(watch);
  }

  #predecessor(): ByteString | undefined {
    let key: ByteString | undefined;
    let newest = 0;
    const range = keyRange(this.#prefix, prefixEnd(this.#prefix));
    this.#door.replica.state.range(ETCD, range.from, range.to, (other, record) => {
      const { createRevision } = record;
      if (createRevision < this.#revision && createRevision > newest) {
        newest = createRevision;
        key = other;
      }
      return undefined;
    });
    return key;
  }

  #unwatch(): void {
    for (const watch of this.#watches) this.#door.hub.remove(watch);
    this.#watches = [];
  }

  #finish(error: RpcError | undefined, held?: Held): void {
    if (this.#over) return;
    this.#over = true;
    this.#unwatch();
    this.#done(error, held);
  }

  /** The client does not wait any more: its place in the queue is given back. */
  #giveUp(): void {
    if (this.#over) return;
    if (this.#revision === 0) return;
    this.#over = true;
    this.#unwatch();
    if (!this.#created) return;
    const writer = this.#door.command(ProcedureId.DeleteRange);
    const rangeEnd = Buffer.alloc(0);
    writeDelete(writer, { key: keyBytes(this.key), rangeEnd, prevKv: false });
    this.#door.replica.submit(writer.copy());
  }
}
