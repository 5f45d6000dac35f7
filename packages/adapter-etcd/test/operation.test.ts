import { BinaryReader, BinaryWriter } from '@lockstep/model';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { PutRequest, RangeRequest, RequestOp, TxnRequest } from '../src/gen/rpc.ts';
import { TxnRequest as TxnMessage } from '../src/gen/rpc.ts';
import { prefixEnd } from '../src/key-range.ts';
import { type Operation, rangeOperation, readTxn, writeTxn } from '../src/operation.ts';
import { encodeMessage } from '../src/services/rpc.ts';

const bytes = fc.uint8Array({ maxLength: 6 }).map((array) => Buffer.from(array));
const safe = fc.oneof(fc.constant(0), fc.maxSafeInteger());
const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
const range: fc.Arbitrary<RangeRequest> = fc.record({
  key: bytes,
  rangeEnd: bytes,
  limit: safe.map(Math.abs),
  revision: safe,
  sortOrder: fc.constantFrom(0, 1, 2),
  sortTarget: fc.constantFrom(0, 1, 2, 3, 4),
  serializable: fc.boolean(),
  keysOnly: fc.boolean(),
  countOnly: fc.boolean(),
  minModRevision: safe,
  maxModRevision: safe,
  minCreateRevision: safe,
  maxCreateRevision: safe,
}) as fc.Arbitrary<RangeRequest>;
const put: fc.Arbitrary<PutRequest> = fc.record({
  key: bytes,
  value: bytes,
  lease: int64,
  prevKv: fc.boolean(),
  ignoreValue: fc.boolean(),
  ignoreLease: fc.boolean(),
});
const compare = fc.oneof(
  fc.record({ target: fc.constant(0), version: safe }),
  fc.record({ target: fc.constant(1), createRevision: safe }),
  fc.record({ target: fc.constant(2), modRevision: safe }),
  fc.record({ target: fc.constant(3), value: bytes }),
  fc.record({ target: fc.constant(4), lease: int64 }),
);
const { txn } = fc.letrec<{ txn: TxnRequest; operation: RequestOp }>((tie) => ({
  operation: fc.oneof(
    { maxDepth: 3 },
    range.map((requestRange) => ({ requestRange })),
    put.map((requestPut) => ({ requestPut })),
    fc
      .record({ key: bytes, rangeEnd: bytes, prevKv: fc.boolean() })
      .map((requestDeleteRange) => ({ requestDeleteRange })),
    tie('txn').map((requestTxn) => ({ requestTxn })),
  ),
  txn: fc.record({
    compare: fc.array(
      fc
        .tuple(compare, bytes, bytes, fc.constantFrom(0, 1, 2, 3))
        .map(([target, key, rangeEnd, result]) => ({ ...target, key, rangeEnd, result })),
      { maxLength: 3 },
    ) as fc.Arbitrary<TxnRequest['compare']>,
    success: fc.array(tie('operation'), { maxLength: 3 }),
    failure: fc.array(tie('operation'), { maxLength: 3 }),
  }),
}));

const latin1 = (buffer: Buffer) => buffer.toString('latin1');
const expected = (op: RequestOp): unknown => {
  if (op.requestRange !== undefined) return rangeOperation(op.requestRange);
  if (op.requestPut !== undefined) {
    const { key, value, lease, prevKv, ignoreValue, ignoreLease } = op.requestPut;
    const flags = { previous: prevKv, ignoreValue, ignoreLease };
    return { kind: 'put', key: latin1(key), value, leaseId: lease, ...flags };
  }
  if (op.requestDeleteRange !== undefined) {
    const { key, rangeEnd, prevKv } = op.requestDeleteRange;
    return { kind: 'delete', key: latin1(key), rangeEnd: latin1(rangeEnd), previous: prevKv };
  }
  return expectedTxn(op.requestTxn!);
};
const expectedTxn = (request: TxnRequest): unknown => ({
  kind: 'txn',
  comparisons: request.compare.map((one) => ({
    target: one.target,
    result: one.result,
    key: latin1(one.key),
    rangeEnd: latin1(one.rangeEnd),
    operand: one.version ?? one.createRevision ?? one.modRevision ?? one.value ?? one.lease,
  })),
  success: request.success.map(expected),
  failure: request.failure.map(expected),
});

/** Buffers and views compare by their bytes. */
const plain = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value, (_key, one) =>
      typeof one === 'bigint'
        ? `${one}n`
        : one?.type === 'Buffer'
          ? Buffer.from(one.data).toString('hex')
          : Object.is(one, -0)
            ? 0
            : one,
    ),
  );

describe('a transaction in a command', () => {
  it('reads back as what the request said, over the wire and into the log', () => {
    fc.assert(
      fc.property(txn, (request) => {
        const received = TxnMessage.decode(encodeMessage(TxnMessage, request));
        const writer = new BinaryWriter();
        writeTxn(writer, received);
        const reader = new BinaryReader(writer.take());
        const operation: Operation = readTxn(reader);
        expect(reader.remaining).toBe(0);
        expect(plain(operation)).toEqual(plain(expectedTxn(request)));
      }),
    );
  });
});

describe('numbers beyond 2^53', () => {
  it('are clamped, so that they compare as they should', () => {
    // field 1 (TTL-like int64 limits): limit = 2^63 − 1, revision = −2^63
    const message = Buffer.from('18ffffffffffffffff7f2080808080808080808001', 'hex');
    const decoded = TxnMessage.decode(Buffer.concat([Buffer.from([18, 23, 10, 21]), message]));
    const operation = rangeOperation(decoded.success[0]!.requestRange!);
    expect(operation.limit).toBe(Number.MAX_SAFE_INTEGER);
    expect(operation.revision).toBe(Number.MIN_SAFE_INTEGER);
  });
});

describe('the end of a prefix', () => {
  it.each([
    ['ab', 'ac'],
    ['a\xff', 'b'],
    ['\xff\xff', '\0'],
    ['', '\0'],
  ])('%j ends at %j', (prefix, end) => {
    expect(prefixEnd(prefix)).toBe(end);
  });
});
