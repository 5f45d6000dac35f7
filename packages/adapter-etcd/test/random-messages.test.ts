import type { ClientReadableStream } from '@grpc/grpc-js';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import * as api from '../src/services/api.ts';
import type { Rpc } from '../src/services/rpc.ts';
import { b, DoorFixture } from './door-fixture.ts';

let door: DoorFixture;

beforeAll(async () => {
  door = await DoorFixture.open();
});

afterAll(() => door.close());

type AnyRpc = Rpc<unknown, unknown>;
const rpcs = Object.values(api).flatMap((service) => Object.values(service)) as unknown as AnyRpc[];

/** Bytes that often are a message: fields 1 to 12 of every wire type, nested and cut short. */
const message: fc.Arbitrary<Uint8Array> = fc.letrec<{ bytes: Uint8Array }>((tie) => ({
  bytes: fc
    .array(
      fc.tuple(
        fc.integer({ min: 1, max: 12 }),
        fc.oneof(
          { maxDepth: 3 },
          fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map((value) => varint(value)),
          fc.constantFrom(varint(0n), varint(1n), varint(2n)),
          fc.uint8Array({ maxLength: 4 }),
          tie('bytes'),
        ),
        fc.boolean(),
      ),
      { maxLength: 5 },
    )
    .map((fields) =>
      Buffer.concat(
        fields.map(([field, value, asBytes]) =>
          asBytes
            ? Buffer.concat([Buffer.from([field * 8 + 2, value.length & 127]), value])
            : Buffer.concat([Buffer.from([field * 8]), value]),
        ),
      ),
    ),
})).bytes;

function varint(value: bigint): Uint8Array {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 128n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
  return Buffer.from([...bytes, Number(rest)]);
}

const identity = (bytes: Buffer): Buffer => bytes;

function openBidi(rpc: AnyRpc, bytes: Buffer, deadline: number): ClientReadableStream<Buffer> {
  const stream = door.client.makeBidiStreamRequest(rpc.path, identity, identity, { deadline });
  stream.write(bytes);
  stream.end();
  return stream;
}

function openServer(rpc: AnyRpc, bytes: Buffer, deadline: number): ClientReadableStream<Buffer> {
  return door.client.makeServerStreamRequest(rpc.path, identity, identity, bytes, { deadline });
}

/** Sends the bytes and waits for an end; streams that stay open are cut off after an answer. */
function send(rpc: AnyRpc, bytes: Buffer): Promise<number> {
  const deadline = Date.now() + 250;
  return new Promise((resolve) => {
    if (rpc.kind === 'unary') {
      door.client.makeUnaryRequest(rpc.path, identity, identity, bytes, { deadline }, (error) =>
        resolve(error?.code ?? 0),
      );
      return;
    }
    const stream =
      rpc.kind === 'bidi' ? openBidi(rpc, bytes, deadline) : openServer(rpc, bytes, deadline);
    stream.on('data', () => stream.cancel());
    stream.on('error', () => undefined);
    stream.on('status', (status) => resolve(status.code));
  });
}

it('answers whatever bytes a request holds, and goes on serving', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...rpcs),
      fc.array(message, { minLength: 4, maxLength: 8 }),
      async (rpc, all) => {
        await Promise.all(all.map((bytes) => send(rpc, Buffer.from(bytes))));
        await door.call(api.KV.put, { key: b('alive') });
      },
    ),
    { numRuns: 60 },
  );
  expect((await door.call(api.KV.range, { key: b('alive') })).count).toBe(1);
}, 60_000);
