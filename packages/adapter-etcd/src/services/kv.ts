import { BinaryReader, BinaryWriter } from '@lockstep/model';
import { CommandReply, type Door } from '../door.ts';
import { ETCD_ERRORS } from '../errors.ts';
import type {
  CompactionRequest,
  CompactionResponse,
  DeleteRangeRequest,
  DeleteRangeResponse,
  PutRequest,
  PutResponse,
  RangeRequest,
  RangeResponse,
  TxnRequest,
  TxnResponse,
} from '../gen/rpc.ts';
import { ETCD } from '../keyspace.ts';
import {
  type RangeOperation,
  rangeOperation,
  readTxn,
  writeDelete,
  writePut,
  writeTxn,
} from '../operation.ts';
import { type CompactResult, writeCompact } from '../procedures/compact.ts';
import type { DeleteResult } from '../procedures/delete-range.ts';
import { ProcedureId } from '../procedures/outcome.ts';
import type { PutResult } from '../procedures/put.ts';
import { readTransaction, type TxnResult } from '../procedures/txn.ts';
import { answerTxn, deleteResponse, putResponse, rangeResponse, withHistory } from '../replies.ts';
import {
  checkDelete,
  checkPut,
  checkRange,
  checkTxn,
  isReadOnly,
  isSerializable,
} from '../request.ts';
import { select } from '../selection.ts';
import { type Call, type Done, type RpcError, rpcError } from '../session.ts';

/** The KV service: validate, then propose or read. Nothing here waits on a promise. */
export class KvService {
  readonly #door: Door;

  constructor(door: Door) {
    this.#door = door;
  }

  range(request: RangeRequest, _call: Call, done: Done<RangeResponse>): void {
    const error = checkRange(request);
    if (error !== undefined) {
      done(rpcError(error));
      return;
    }
    const operation = rangeOperation(request);
    this.#read(request.serializable, done, () => this.#answerRange(operation, done));
  }

  /** Local state at once when `serializable`, else after a linearizable barrier. */
  #read(serializable: boolean, failed: (error: RpcError) => void, answer: () => void): void {
    if (!serializable) {
      this.#door.barrier(answer, failed);
      return;
    }
    if (this.#door.replica.serving) {
      answer();
      return;
    }
    failed(rpcError('NO_LEADER'));
  }

  #answerRange(operation: RangeOperation, done: Done<RangeResponse>): void {
    const door = this.#door;
    const { state } = door.replica;
    const { revision } = operation;
    if (revision > state.revision) {
      done(ETCD_ERRORS.FUTURE_REVISION);
      return;
    }
    if (revision > 0 && revision < state.compactedRevision(ETCD)) {
      done(ETCD_ERRORS.COMPACTED);
      return;
    }
    const header = door.header();
    const selection = select(state, operation, state.revision);
    withHistory(door, [selection], done, () => done(undefined, rangeResponse(header, selection)));
  }

  put(request: PutRequest, _call: Call, done: Done<PutResponse>): void {
    const error = checkPut(request);
    if (error !== undefined) {
      done(rpcError(error));
      return;
    }
    const door = this.#door;
    const writer = door.command(ProcedureId.Put);
    writePut(writer, request);
    const key = request.prevKv ? request.key.toString('latin1') : '';
    const answer = (result: PutResult): void =>
      done(undefined, putResponse(door.header(), key, result));
    door.submit(writer, new CommandReply<PutResult, PutResponse>(done, answer), done);
  }

  deleteRange(request: DeleteRangeRequest, _call: Call, done: Done<DeleteRangeResponse>): void {
    const error = checkDelete(request);
    if (error !== undefined) {
      done(rpcError(error));
      return;
    }
    const door = this.#door;
    const writer = door.command(ProcedureId.DeleteRange);
    writeDelete(writer, request);
    const reply = new CommandReply<DeleteResult, DeleteRangeResponse>(done, (result) =>
      done(undefined, deleteResponse(door.header(), result)),
    );
    door.submit(writer, reply, done);
  }

  txn(request: TxnRequest, _call: Call, done: Done<TxnResponse>): void {
    const error = checkTxn(request, this.#door.settings.txnOperationsMax);
    if (error !== undefined) {
      done(rpcError(error));
      return;
    }
    if (isReadOnly(request)) {
      this.#readTxn(request, done);
      return;
    }
    const door = this.#door;
    const writer = door.command(ProcedureId.Txn);
    writeTxn(writer, request);
    const reply = new CommandReply<TxnResult, TxnResponse>(done, (result) =>
      answerTxn(door, result, done),
    );
    door.submit(writer, reply, done);
  }

  /** A transaction that cannot write is answered from local state and never enters the log. */
  #readTxn(request: TxnRequest, done: Done<TxnResponse>): void {
    const writer = new BinaryWriter();
    writeTxn(writer, request);
    const operation = readTxn(new BinaryReader(writer.take()));
    this.#read(isSerializable(request), done, () => {
      const result = readTransaction(this.#door.replica.state, operation);
      if (result.kind === 'failure') done(rpcError(result.error));
      else answerTxn(this.#door, result, done);
    });
  }

  /** `physical` changes nothing: once applied, the history cannot be read any more. */
  compact(request: CompactionRequest, _call: Call, done: Done<CompactionResponse>): void {
    const door = this.#door;
    const writer = door.command(ProcedureId.Compact);
    writeCompact(writer, request.revision);
    const reply = new CommandReply<CompactResult, CompactionResponse>(done, () =>
      done(undefined, { header: door.header() }),
    );
    door.submit(writer, reply, done);
  }
}
