import type { ClusterTimeMs, Revision, WallTimeMs } from '@lockstep/model';
import type { Acl } from './acl.ts';
import { NodeMode, type NodeValue } from './tree.ts';

/**
 * What changes a stat record. Each writes the whole record out, in one order of fields: spreading
 * the old one costs a microsecond more, a tenth of what a whole setData takes.
 */

/** setData: version, mtime and mzxid move. */
export function withData(
  node: NodeValue,
  zxid: Revision,
  dataBytes: number,
  wall: WallTimeMs,
  time: ClusterTimeMs,
): NodeValue {
  return {
    kind: 'node',
    mode: node.mode,
    czxid: node.czxid,
    mzxid: zxid,
    pzxid: node.pzxid,
    ctime: node.ctime,
    mtime: wall,
    version: nextVersion(node.version),
    aversion: node.aversion,
    creates: node.creates,
    children: node.children,
    dataBytes,
    owner: node.owner,
    acl: node.acl,
    ttlMs: node.ttlMs,
    modifiedAt: node.mode === NodeMode.Ttl ? time : 0,
  };
}

/** A child came (`created` 1) or went (0): pzxid and the counts move, and with them cversion. */
export function withChildren(
  node: NodeValue,
  zxid: Revision,
  created: 0 | 1,
  children: number,
): NodeValue {
  return {
    kind: 'node',
    mode: node.mode,
    czxid: node.czxid,
    mzxid: node.mzxid,
    pzxid: zxid,
    ctime: node.ctime,
    mtime: node.mtime,
    version: node.version,
    aversion: node.aversion,
    creates: (node.creates + created) | 0,
    children,
    dataBytes: node.dataBytes,
    owner: node.owner,
    acl: node.acl,
    ttlMs: node.ttlMs,
    modifiedAt: node.modifiedAt,
  };
}

/** setACL: aversion moves and nothing else. */
export function withAcl(node: NodeValue, acl: Acl): NodeValue {
  return { ...node, acl, aversion: nextVersion(node.aversion) };
}

/** Versions are int32 and skip -1, which means "any" to clients (ZOOKEEPER-4743). */
function nextVersion(version: number): number {
  const next = (version + 1) | 0;
  return next === -1 ? 0 : next;
}
