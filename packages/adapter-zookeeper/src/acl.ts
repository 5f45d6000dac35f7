import { BinaryReader, BinaryWriter, type ByteString } from '@lockstep/model';
import { isInSubnet, parseSubnet } from './addresses.ts';
import { Permission } from './opcodes.ts';

/** Who a connection is: `ip` from the start, others by auth packets (scheme and id). */
export interface Identity {
  readonly scheme: ByteString;
  readonly id: ByteString;
}

export interface AclEntry extends Identity {
  /** Bits of `Permission`; unknown bits are kept. */
  readonly perms: number;
}

export type Acl = readonly AclEntry[];

/** world:anyone with everything: what nearly every node has, so it is one shared object. */
export const OPEN_ACL: Acl = [{ perms: Permission.All, scheme: 'world', id: 'anyone' }];
/** world:anyone may read; of /zookeeper/config. */
export const READ_ACL: Acl = [{ perms: Permission.Read, scheme: 'world', id: 'anyone' }];

/** Schemes whose identity is proven, so that `auth` may stand for it. */
const AUTHENTICATED: ReadonlySet<string> = new Set(['digest', 'sasl', 'x509', 'super']);

/** The shared object when the entries are those of an open ACL, the given list otherwise. */
export function internAcl(acl: Acl): Acl {
  const first = acl[0];
  const open =
    acl.length === 1 &&
    first?.perms === Permission.All &&
    first.scheme === 'world' &&
    first.id === 'anyone';
  return open ? OPEN_ACL : acl;
}

/**
 * An ACL as it will be stored: duplicates dropped, then `auth` replaced by the connection's proven
 * identities, order kept. Undefined when it is not acceptable (InvalidAcl).
 */
export function resolveAcl(
  acl: readonly AclEntry[] | null,
  identities: readonly Identity[],
): Acl | undefined {
  if (acl === null || acl.length === 0) return undefined;
  const resolved: AclEntry[] = [];
  for (const entry of withoutDuplicates(acl)) {
    if (entry.scheme === 'auth') {
      const proven = identities.filter((identity) => AUTHENTICATED.has(identity.scheme));
      if (proven.length === 0) return undefined;
      for (const identity of proven) resolved.push({ perms: entry.perms, ...identity });
    } else if (isAcceptable(entry)) resolved.push(entry);
    else return undefined;
  }
  return internAcl(resolved);
}

/** Only what the client sent twice collapses; `auth` may well expand to an entry beside it. */
function withoutDuplicates(acl: readonly AclEntry[]): AclEntry[] {
  const kept: AclEntry[] = [];
  for (const { perms, scheme, id } of acl) {
    if (kept.some((k) => k.perms === perms && k.scheme === scheme && k.id === id)) continue;
    kept.push({ perms, scheme, id });
  }
  return kept;
}

function isAcceptable({ scheme, id }: AclEntry): boolean {
  if (scheme === 'world') return id === 'anyone';
  if (scheme === 'digest') return id.split(':').length === 2;
  if (scheme === 'ip') return parseSubnet(id) !== undefined;
  return false;
}

/** Whether one of the identities has the permission; `super` has all. */
export function permits(
  acl: Acl,
  permission: number,
  identities: () => readonly Identity[],
): boolean {
  if (acl === OPEN_ACL) return true;
  const granting = acl.filter((entry) => (entry.perms & permission) !== 0);
  if (granting.some((entry) => entry.scheme === 'world' && entry.id === 'anyone')) return true;
  const known = identities();
  if (known.some((identity) => identity.scheme === 'super')) return true;
  return granting.some((entry) => known.some((identity) => matches(entry, identity)));
}

function matches(entry: AclEntry, identity: Identity): boolean {
  if (entry.scheme !== identity.scheme) return false;
  if (entry.scheme === 'ip') return isInSubnet(identity.id, entry.id);
  return entry.id === identity.id;
}

/** The hash of each digest id replaced by `x`, for readers without ADMIN. */
export function maskDigests(acl: Acl): Acl {
  return acl.map((entry) =>
    entry.scheme === 'digest' ? { ...entry, id: entry.id.replace(/:.*$/s, ':x') } : entry,
  );
}

/** Image form; 0 stands for the open ACL. */
export function writeAcl(writer: BinaryWriter, acl: Acl): void {
  if (acl === OPEN_ACL) {
    writer.varint(0);
    return;
  }
  writer.varint(acl.length);
  for (const { perms, scheme, id } of acl) {
    writer
      .u32(perms >>> 0)
      .byteString(scheme)
      .byteString(id);
  }
}

export function readAcl(reader: BinaryReader): Acl {
  const acl: AclEntry[] = [];
  for (let left = reader.varint(); left > 0; left--) {
    acl.push({ perms: reader.u32() | 0, scheme: reader.byteString(), id: reader.byteString() });
  }
  return acl.length === 0 ? OPEN_ACL : acl;
}

/** What a command carries of its connection, encoded once per change of the identities. */
export function encodeIdentities(identities: readonly Identity[]): Uint8Array {
  const writer = new BinaryWriter(64);
  writer.varint(identities.length);
  for (const { scheme, id } of identities) writer.byteString(scheme).byteString(id);
  return writer.copy();
}

export function decodeIdentities(bytes: Uint8Array): readonly Identity[] {
  const reader = new BinaryReader(bytes);
  const identities: Identity[] = [];
  for (let left = reader.varint(); left > 0; left--) {
    identities.push({ scheme: reader.byteString(), id: reader.byteString() });
  }
  return identities;
}
