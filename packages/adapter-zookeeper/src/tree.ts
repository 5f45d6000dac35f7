import {
  type BinaryReader,
  type BinaryWriter,
  type ByteString,
  type ClusterTimeMs,
  copyBytes,
  EMPTY_BYTES,
  type Revision,
  UnknownFormatError,
  type WallTimeMs,
} from '@lockstep/model';
import type { KeyspaceDefinition, StateReader } from '@lockstep/state-machine';
import { type Acl, OPEN_ACL, READ_ACL, readAcl, writeAcl } from './acl.ts';
import { ChildrenIndex } from './children-index.ts';

/** How a node ends by itself. */
export const NodeMode = {
  Persistent: 0,
  /** With its session. */
  Ephemeral: 1,
  /** When its last child is gone. */
  Container: 2,
  /** When childless and unchanged for its TTL. */
  Ttl: 3,
} as const;
export type NodeMode = (typeof NodeMode)[keyof typeof NodeMode];

/**
 * The stat record of a node: everything but its data, so that the coming and going of children
 * rewrites this and no more.
 */
export interface NodeValue {
  readonly kind: 'node';
  readonly mode: NodeMode;
  /** Revisions: creation, last setData or creation, last change of the children or creation. */
  readonly czxid: Revision;
  readonly mzxid: Revision;
  readonly pzxid: Revision;
  readonly ctime: WallTimeMs;
  readonly mtime: WallTimeMs;
  /** Counts of setData and setACL; int32. */
  readonly version: number;
  readonly aversion: number;
  /** Children ever created: source of sequence numbers; int32, wraps. */
  readonly creates: number;
  readonly children: number;
  readonly dataBytes: number;
  /** Session that owns an ephemeral node; 0 otherwise. */
  readonly owner: bigint;
  readonly acl: Acl;
  /** TTL nodes only: their TTL, and cluster time of the last setData or creation. */
  readonly ttlMs: number;
  readonly modifiedAt: ClusterTimeMs;
}

/** The data record of a node; null and empty data are different to clients. */
export interface DataValue {
  readonly kind: 'data';
  readonly bytes: Uint8Array | null;
}

export type TreeValue = NodeValue | DataValue;

/** The record with which clients see a node's bookkeeping. */
export interface Stat {
  readonly czxid: Revision;
  readonly mzxid: Revision;
  readonly ctime: WallTimeMs;
  readonly mtime: WallTimeMs;
  readonly version: number;
  readonly cversion: number;
  readonly aversion: number;
  readonly ephemeralOwner: bigint;
  readonly dataLength: number;
  readonly numChildren: number;
  readonly pzxid: Revision;
}

/** Keys are paths behind a letter that tells stat from data records. */
export const nodeKey = (path: ByteString): ByteString => `n${path}`;
export const dataKey = (path: ByteString): ByteString => `d${path}`;

/** Path of a stat record's key; undefined for the key of a data record. */
export function pathOfNodeKey(key: ByteString): ByteString | undefined {
  return key.charCodeAt(0) === NODE_LETTER ? key.slice(1) : undefined;
}

const NODE_LETTER = 110;
const DATA = 4;

/**
 * The tree's records, image table 32. A path is its own key: there is no rename in the protocol,
 * so that node ids would only add a counter and one look-up for each level.
 */
export const ZOOKEEPER_KEYSPACE: KeyspaceDefinition<TreeValue> = {
  id: 32,
  name: 'zookeeper',
  history: false,
  ordered: false,
  codec: {
    encode(writer, value) {
      if (value.kind === 'node') encodeNode(writer, value);
      else if (value.bytes === null) writer.u8(DATA).u8(0);
      else writer.u8(DATA).u8(1).bytes(value.bytes);
    },
    decode(reader) {
      const tag = reader.u8();
      if (tag < DATA) return decodeNode(reader, tag as NodeMode);
      if (tag !== DATA) throw new UnknownFormatError(`tree record of kind ${tag}`);
      return { kind: 'data', bytes: reader.u8() === 0 ? null : copyBytes(reader.bytes()) };
    },
    sizeBytes(value) {
      return value.kind === 'data' ? (value.bytes?.length ?? 0) : 80;
    },
  },
  index: () => new ChildrenIndex(SYSTEM_PATHS),
};

function encodeNode(writer: BinaryWriter, node: NodeValue): void {
  writer.u8(node.mode).varint(node.czxid).varint(node.mzxid).varint(node.pzxid);
  writer.varint(node.ctime).varint(node.mtime);
  writer.u32(node.version >>> 0).u32(node.aversion >>> 0);
  writer.u32(node.creates >>> 0).varint(node.children);
  writer.varint(node.dataBytes);
  writeAcl(writer, node.acl);
  if (node.mode === NodeMode.Ephemeral) writer.i64(node.owner);
  if (node.mode === NodeMode.Ttl) writer.varint(node.ttlMs).f64(node.modifiedAt);
}

function decodeNode(reader: BinaryReader, mode: NodeMode): NodeValue {
  const czxid = reader.varint();
  const mzxid = reader.varint();
  const pzxid = reader.varint();
  const ctime = reader.varint();
  const mtime = reader.varint();
  const version = reader.u32() | 0;
  const aversion = reader.u32() | 0;
  const creates = reader.u32() | 0;
  const children = reader.varint();
  const dataBytes = reader.varint();
  const acl = readAcl(reader);
  const owner = mode === NodeMode.Ephemeral ? reader.i64() : 0n;
  const ttlMs = mode === NodeMode.Ttl ? reader.varint() : 0;
  const modifiedAt = mode === NodeMode.Ttl ? reader.f64() : 0;
  // All literals of a node name its fields in this order, so that they share one hidden class.
  return {
    kind: 'node',
    mode,
    czxid,
    mzxid,
    pzxid,
    ctime,
    mtime,
    version,
    aversion,
    creates,
    children,
    dataBytes,
    owner,
    acl,
    ttlMs,
    modifiedAt,
  };
}

// ---- nodes that every store has ----------------------------------------------------------------

const systemNode = (children: number, acl: Acl, aversion: number): NodeValue => ({
  kind: 'node',
  mode: NodeMode.Persistent,
  czxid: 0,
  mzxid: 0,
  pzxid: 0,
  ctime: 0,
  mtime: 0,
  version: 0,
  aversion,
  creates: 0,
  children,
  dataBytes: 0,
  owner: 0n,
  acl,
  ttlMs: 0,
  modifiedAt: 0,
});

/**
 * Nodes that are there before anything was written, as clients of a fresh ZooKeeper find them
 * (their children were never counted, hence the cversion of -1 and -2). A record takes the place
 * of one once it changes; none can be deleted.
 */
const SYSTEM_NODES: ReadonlyMap<ByteString, NodeValue> = new Map([
  ['/', systemNode(1, OPEN_ACL, 0)],
  ['/zookeeper', systemNode(2, OPEN_ACL, 0)],
  ['/zookeeper/config', systemNode(0, READ_ACL, -1)],
  ['/zookeeper/quota', systemNode(0, OPEN_ACL, 0)],
]);

/** Paths of the nodes that every store has. */
export const SYSTEM_PATHS: readonly ByteString[] = [...SYSTEM_NODES.keys()];

/** True for a node that no client may delete. */
export function isSystemPath(path: ByteString): boolean {
  return SYSTEM_NODES.has(path);
}

// ---- reading -----------------------------------------------------------------------------------

/** The node at a path, undefined when there is none. */
export function findNode(reader: StateReader, path: ByteString): NodeValue | undefined {
  const record = reader.get(ZOOKEEPER_KEYSPACE, nodeKey(path));
  if (record === undefined) return SYSTEM_NODES.get(path);
  return record.value as NodeValue;
}

/** The data of an existing node. */
export function readData(reader: StateReader, path: ByteString): Uint8Array | null {
  const record = reader.get(ZOOKEEPER_KEYSPACE, dataKey(path));
  return record === undefined ? EMPTY_BYTES : (record.value as DataValue).bytes;
}

/** Names of a node's children in byte order. Owned by the index: do not change. */
export function childNames(reader: StateReader, path: ByteString): readonly ByteString[] {
  return childrenIndex(reader).list(path);
}

export function childrenIndex(reader: StateReader): ChildrenIndex {
  return reader.index<ChildrenIndex>(ZOOKEEPER_KEYSPACE);
}

export function statOf(node: NodeValue): Stat {
  return {
    czxid: node.czxid,
    mzxid: node.mzxid,
    ctime: node.ctime,
    mtime: node.mtime,
    version: node.version,
    cversion: (2 * node.creates - node.children) | 0,
    aversion: node.aversion,
    ephemeralOwner: node.owner,
    dataLength: node.dataBytes,
    numChildren: node.children,
    pzxid: node.pzxid,
  };
}

/** Nodes a client can reach, those that every store has included. */
export function nodeCount(reader: StateReader): number {
  return childrenIndex(reader).nodes;
}
