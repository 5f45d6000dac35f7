import { BinaryReader, decodeCommand } from '@lockstep/model';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { encodeIdentities } from '../src/acl.ts';
import { type ChangeRequest, type MultiRequest, type Request, readRequest } from '../src/codec.ts';
import { commandOf } from '../src/commands.ts';
import { JuteError, JuteReader } from '../src/jute.ts';
import { OpCode } from '../src/opcodes.ts';
import type { TreeOperation } from '../src/operations.ts';
import { ZOOKEEPER_PROCEDURES } from '../src/procedures.ts';
import { type Body, body, requestFrame } from './frames.ts';

const IDENTITIES = [
  { scheme: 'ip', id: '127.0.0.1' },
  { scheme: 'digest', id: 'bob:2/pYcOCd7fsXhyV8PGYcDrQUJ4A=' },
];
const SESSION = { lease: 12_345, epoch: 3 };

/** A request as the session decodes it; undefined when the answer is -5. */
function decode(type: number, bytes: Buffer): Request | undefined {
  try {
    return readRequest(type, new JuteReader(bytes), IDENTITIES);
  } catch (error) {
    if (error instanceof JuteError) return undefined;
    throw error;
  }
}

/** What a request becomes when its command is read out of the log. */
function throughLog(request: ChangeRequest | MultiRequest): readonly TreeOperation[] {
  const command = decodeCommand(commandOf(request, SESSION, encodeIdentities(IDENTITIES)));
  expect(command.session).toEqual(SESSION);
  const procedure = ZOOKEEPER_PROCEDURES.find(({ id }) => id === command.procedure);
  const args = procedure?.decode(new BinaryReader(command.args)) as {
    operation?: TreeOperation;
    operations?: readonly TreeOperation[];
  };
  return args.operations ?? [args.operation!];
}

const plain = (operations: readonly TreeOperation[]) =>
  operations.map((operation) => {
    if (operation.kind !== 'create' && operation.kind !== 'setData') return operation;
    return { ...operation, data: operation.data && [...operation.data] };
  });

function check(request: Request | undefined): void {
  if (request?.kind === 'change') {
    expect(plain(throughLog(request))).toEqual(plain([request.operation]));
  } else if (request?.kind === 'multi') {
    expect(plain(throughLog(request))).toEqual(plain(request.operations));
  }
}

const payload = (type: number, write: Body): Buffer => requestFrame(1, type, write).subarray(12);

const path = fc.oneof(fc.constantFrom('/a', '/', '', '/a//b', 'x', '/zookeeper'), fc.string());
const latin1 = path.map((text) => Buffer.from(text).toString('latin1'));
const data = fc.option(fc.string());
const version = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });
const acl = fc.option(
  fc.array(
    fc.record({
      perms: version,
      scheme: fc.constantFrom('world', 'auth', 'digest', 'ip', 'x'),
      id: fc.constantFrom('anyone', 'a:b', '10.0.0.0/8', ''),
    }),
    { maxLength: 3 },
  ),
);
const operation: fc.Arbitrary<readonly [number, Body]> = fc.oneof(
  fc
    .tuple(latin1, data, fc.integer({ min: -2, max: 8 }), acl)
    .map(([p, d, flags, rows]) => [OpCode.Create2, body.create(p, d, flags, rows)] as const),
  fc
    .tuple(latin1, fc.maxSafeInteger(), fc.integer({ min: 0, max: 7 }))
    .map(([p, ttl, flags]) => [OpCode.CreateTtl, body.createTtl(p, ttl, flags)] as const),
  fc.tuple(latin1, version).map(([p, v]) => [OpCode.Delete, body.version(p, v)] as const),
  fc.tuple(latin1, version).map(([p, v]) => [OpCode.Check, body.version(p, v)] as const),
  fc
    .tuple(latin1, data, version)
    .map(([p, d, v]) => [OpCode.SetData, body.setData(p, d, v)] as const),
);

describe('requests', () => {
  test('every change comes out of the log as it went in', () => {
    fc.assert(fc.property(operation, ([type, write]) => check(decode(type, payload(type, write)))));
    fc.assert(
      fc.property(fc.tuple(latin1, acl, version), ([p, rows, v]) =>
        check(decode(OpCode.SetAcl, payload(OpCode.SetAcl, body.setAcl(p, rows, v)))),
      ),
    );
  });

  test('so does every multi, refused parts included', () => {
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 6 }), (operations) =>
        check(decode(OpCode.Multi, payload(OpCode.Multi, body.multi(...operations)))),
      ),
    );
  });

  test('whatever the bytes, a request is decoded or refused, and what passes can be logged', () => {
    const types = fc.constantFrom(...Object.values(OpCode), 999);
    fc.assert(
      fc.property(types, fc.uint8Array({ maxLength: 80 }), (type, bytes) =>
        check(decode(type, Buffer.from(bytes))),
      ),
      { numRuns: 3000 },
    );
  });

  test('whatever byte of a multi is changed, it is decoded or refused', () => {
    const good = payload(
      OpCode.Multi,
      body.multi(
        [OpCode.Create, body.create('/a', 'x', 3)],
        [OpCode.SetData, body.setData('/a', null)],
        [OpCode.Check, body.version('/a', 1)],
      ),
    );
    for (let at = 0; at < good.length; at++) {
      for (const value of [0, 1, 0x7f, 0x80, 0xff]) {
        const bad = Buffer.from(good);
        bad[at] = value;
        check(decode(OpCode.Multi, bad));
      }
    }
  });
});
