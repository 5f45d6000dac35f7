import { BinaryReader, BinaryWriter, type ByteString } from '@lockstep/model';
import type { ClientIdentity } from './command.ts';

/** What somebody asks for with LOCK ACQUIRE; kept with the waiter while it queues. */
export interface LockRequest {
  readonly owner: ByteString;
  /** 0: no expiry, only the session ends it. */
  readonly ttlMs: number;
  readonly meta: ByteString;
  readonly client: ClientIdentity | undefined;
  readonly session: boolean;
  readonly withInfo: boolean;
  readonly reentrant: boolean;
}

const SESSION = 1;
const WITH_INFO = 2;
const REENTRANT = 4;
const HAS_CLIENT = 8;

/** Arguments of a queued waiter. The caller owns the bytes. */
export function encodeLockRequest(request: LockRequest): Uint8Array {
  const { client } = request;
  const writer = new BinaryWriter(64);
  const flags =
    (request.session ? SESSION : 0) |
    (request.withInfo ? WITH_INFO : 0) |
    (request.reentrant ? REENTRANT : 0) |
    (client === undefined ? 0 : HAS_CLIENT);
  writer.u8(flags).byteString(request.owner).varint(request.ttlMs).byteString(request.meta);
  if (client !== undefined) writer.f64(client.id).byteString(client.address);
  return writer.copy();
}

export function decodeLockRequest(bytes: Uint8Array): LockRequest {
  const reader = new BinaryReader(bytes);
  const flags = reader.u8();
  const owner = reader.byteString();
  const ttlMs = reader.varint();
  const meta = reader.byteString();
  const client =
    (flags & HAS_CLIENT) === 0
      ? undefined
      : { id: reader.f64(), address: reader.byteString() };
  return {
    owner,
    ttlMs,
    meta,
    client,
    session: (flags & SESSION) !== 0,
    withInfo: (flags & WITH_INFO) !== 0,
    reentrant: (flags & REENTRANT) !== 0,
  };
}

/** The owner's own bytes in a lock note: its META and who it was. */
export interface LockDetails {
  readonly meta: ByteString;
  readonly client: ClientIdentity | undefined;
}

export function encodeLockDetails({ meta, client }: LockDetails): Uint8Array {
  const writer = new BinaryWriter(32).byteString(meta);
  if (client !== undefined) writer.f64(client.id).byteString(client.address);
  return writer.copy();
}

export function decodeLockDetails(bytes: Uint8Array): LockDetails {
  const reader = new BinaryReader(bytes);
  const meta = reader.byteString();
  if (reader.remaining === 0) return { meta, client: undefined };
  return { meta, client: { id: reader.f64(), address: reader.byteString() } };
}
