import {
  type ByteString,
  copyBytes,
  invariant,
  type LeaseHandle,
  type Revision,
} from '@lockstep/model';
import type { Transaction } from '@lockstep/state-machine';
import { type Acl, type Identity, OPEN_ACL, permits } from './acl.ts';
import { ErrorCode } from './errors.ts';
import { DOOR, type NodeChanged } from './events.ts';
import { withAcl, withChildren, withData } from './node-changes.ts';
import { EventType, Permission } from './opcodes.ts';
import type {
  CheckOperation,
  CreateOperation,
  DeleteOperation,
  OperationResult,
  SetAclOperation,
  SetDataOperation,
  TreeOperation,
} from './operations.ts';
import { parentPath, sequenceSuffix } from './paths.ts';
import {
  dataKey,
  findNode,
  NodeMode,
  type NodeValue,
  nodeKey,
  statOf,
  ZOOKEEPER_KEYSPACE,
} from './tree.ts';

interface Draft {
  /** Undefined when deleted. */
  node: NodeValue | undefined;
  /** The node that was there began a new life, or was there before and is no more. */
  reborn: boolean;
  data: Uint8Array | null | undefined;
}

const OK: OperationResult = { error: ErrorCode.Ok };
const fails = (error: number): OperationResult => ({ error });

/** Who asks and for whom. The identities are decoded only when an ACL is not open to all. */
export interface Requester {
  readonly identities: () => readonly Identity[];
  readonly lease: LeaseHandle;
  readonly sessionId: () => bigint;
}

/**
 * Changes of the tree, decided on drafts and written only when all are decided: a failing multi
 * leaves no trace, not even a sequence number, and all changes share one revision.
 */
export class TreeChange {
  readonly #tx: Transaction;
  readonly #requester: Requester;
  readonly #zxid: Revision;
  readonly #drafts = new Map<ByteString, Draft>();
  readonly #events: NodeChanged[] = [];

  constructor(tx: Transaction, requester: Requester) {
    this.#tx = tx;
    this.#requester = requester;
    this.#zxid = tx.nextRevision;
  }

  /** Decides one operation on top of those before it. On an error nothing may be written. */
  apply(operation: TreeOperation): OperationResult {
    this.#tx.spend(1);
    if (operation.refusal !== ErrorCode.Ok) return fails(operation.refusal);
    switch (operation.kind) {
      case 'create':
        return this.#create(operation);
      case 'delete':
        return this.#delete(operation);
      case 'setData':
        return this.#setData(operation);
      case 'setAcl':
        return this.#setAcl(operation);
      case 'check':
        return this.#check(operation);
    }
  }

  /** Removes a childless node without asking anybody (session end, clean-up). */
  remove(path: ByteString): void {
    const node = this.#find(path);
    invariant(node !== undefined && node.children === 0, () => `${path} cannot be removed`);
    this.#dropNode(path, node);
  }

  /** Writes what was decided, then tells the door. */
  commit(): void {
    for (const [path, draft] of this.#drafts) this.#write(path, draft);
    for (const event of this.#events) this.#tx.emit(DOOR, event);
  }

  #find(path: ByteString): NodeValue | undefined {
    const draft = this.#drafts.get(path);
    return draft === undefined ? findNode(this.#tx, path) : draft.node;
  }

  #allowed(acl: Acl, permission: Permission): boolean {
    return permits(acl, permission, this.#requester.identities);
  }

  #change(path: ByteString, node: NodeValue): void {
    const draft = this.#drafts.get(path);
    if (draft === undefined) this.#drafts.set(path, { node, reborn: false, data: undefined });
    else draft.node = node;
  }

  /** Built only where a client waits for it. */
  #result(node: NodeValue, path?: ByteString): OperationResult {
    if (!this.#tx.wanted) return OK;
    const result = { error: ErrorCode.Ok, stat: statOf(node) };
    return path === undefined ? result : { ...result, path };
  }

  #event(type: NodeChanged['type'], path: ByteString, acl: Acl, parentAcl: Acl): void {
    this.#events.push({ kind: 'node', type, path, zxid: this.#zxid, acl, parentAcl });
  }

  #create(operation: CreateOperation): OperationResult {
    const parentAt = parentPath(operation.path);
    const parent = this.#find(parentAt);
    if (parent === undefined) return fails(ErrorCode.NoNode);
    if (!this.#allowed(parent.acl, Permission.Create)) return fails(ErrorCode.NoAuth);
    const suffix = operation.sequential ? sequenceSuffix(parent.creates) : '';
    const path = operation.path + suffix;
    if (!operation.nameable) return fails(ErrorCode.BadArguments);
    if (this.#find(path) !== undefined) return fails(ErrorCode.NodeExists);
    if (parent.mode === NodeMode.Ephemeral) return fails(ErrorCode.NoChildrenForEphemerals);
    const node = this.#newNode(operation);
    const data = operation.data === null ? null : copyBytes(operation.data);
    this.#drafts.set(path, { node, reborn: true, data });
    this.#change(parentAt, withChildren(parent, this.#zxid, 1, parent.children + 1));
    this.#event(EventType.Created, path, node.acl, parent.acl);
    return this.#result(node, path);
  }

  #newNode({ mode, data, acl, ttlMs }: CreateOperation): NodeValue {
    const tx = this.#tx;
    return {
      kind: 'node',
      mode,
      czxid: this.#zxid,
      mzxid: this.#zxid,
      pzxid: this.#zxid,
      ctime: tx.wall,
      mtime: tx.wall,
      version: 0,
      aversion: 0,
      creates: 0,
      children: 0,
      dataBytes: data?.length ?? 0,
      owner: mode === NodeMode.Ephemeral ? this.#requester.sessionId() : 0n,
      acl,
      ttlMs,
      modifiedAt: mode === NodeMode.Ttl ? tx.time : 0,
    };
  }

  #delete({ path, version }: DeleteOperation): OperationResult {
    const parent = this.#find(parentPath(path));
    if (parent === undefined) return fails(ErrorCode.NoNode);
    if (!this.#allowed(parent.acl, Permission.Delete)) return fails(ErrorCode.NoAuth);
    const node = this.#find(path);
    if (node === undefined) return fails(ErrorCode.NoNode);
    if (version !== -1 && version !== node.version) return fails(ErrorCode.BadVersion);
    if (node.children > 0) return fails(ErrorCode.NotEmpty);
    this.#dropNode(path, node);
    return OK;
  }

  #dropNode(path: ByteString, node: NodeValue): void {
    const parentAt = parentPath(path);
    const parent = this.#find(parentAt);
    invariant(parent !== undefined, () => `${path} has no parent`);
    this.#drafts.set(path, { node: undefined, reborn: true, data: undefined });
    this.#change(parentAt, withChildren(parent, this.#zxid, 0, parent.children - 1));
    this.#event(EventType.Deleted, path, node.acl, parent.acl);
  }

  #setData({ path, version, data }: SetDataOperation): OperationResult {
    const node = this.#find(path);
    if (node === undefined) return fails(ErrorCode.NoNode);
    if (!this.#allowed(node.acl, Permission.Write)) return fails(ErrorCode.NoAuth);
    if (version !== -1 && version !== node.version) return fails(ErrorCode.BadVersion);
    const { wall, time } = this.#tx;
    const changed = withData(node, this.#zxid, data?.length ?? 0, wall, time);
    this.#change(path, changed);
    const draft = this.#drafts.get(path);
    if (draft !== undefined) draft.data = data === null ? null : copyBytes(data);
    this.#event(EventType.DataChanged, path, node.acl, OPEN_ACL);
    return this.#result(changed);
  }

  #setAcl({ path, version, acl }: SetAclOperation): OperationResult {
    const node = this.#find(path);
    if (node === undefined) return fails(ErrorCode.NoNode);
    if (!this.#allowed(node.acl, Permission.Admin)) return fails(ErrorCode.NoAuth);
    if (version !== -1 && version !== node.aversion) return fails(ErrorCode.BadVersion);
    const changed = withAcl(node, acl);
    this.#change(path, changed);
    return this.#result(changed);
  }

  #check({ path, version }: CheckOperation): OperationResult {
    const node = this.#find(path);
    if (node === undefined) return fails(ErrorCode.NoNode);
    if (!this.#allowed(node.acl, Permission.Read)) return fails(ErrorCode.NoAuth);
    if (version !== -1 && version !== node.version) return fails(ErrorCode.BadVersion);
    return OK;
  }

  #write(path: ByteString, { node, reborn, data }: Draft): void {
    const tx = this.#tx;
    const key = nodeKey(path);
    if (reborn && tx.get(ZOOKEEPER_KEYSPACE, key) !== undefined) {
      tx.delete(ZOOKEEPER_KEYSPACE, key);
      tx.delete(ZOOKEEPER_KEYSPACE, dataKey(path));
    }
    if (node === undefined) return;
    const hangs = reborn && node.mode === NodeMode.Ephemeral;
    const options = hangs ? { lease: this.#requester.lease } : undefined;
    tx.put(ZOOKEEPER_KEYSPACE, key, node, options);
    if (data !== undefined)
      tx.put(ZOOKEEPER_KEYSPACE, dataKey(path), { kind: 'data', bytes: data });
  }
}
