import type { ByteString, LeaseHandle, Revision } from '@lockstep/model';
import type { Acl } from './acl.ts';
import type { EventType } from './opcodes.ts';

/** Name under which procedures emit to this door on every member. */
export const DOOR = 'zookeeper';

/** A node was created, deleted or given data. */
export interface NodeChanged {
  readonly kind: 'node';
  readonly type: Exclude<EventType, 4>;
  readonly path: ByteString;
  readonly zxid: Revision;
  /** Who may be told: READ on the node, and on its parent for the change of its children. */
  readonly acl: Acl;
  readonly parentAcl: Acl;
}

/** A session was attached to a newer connection: older ones are stale wherever they are. */
export interface SessionAttached {
  readonly kind: 'attached';
  readonly lease: LeaseHandle;
  readonly epoch: number;
}

export type DoorPayload = NodeChanged | SessionAttached;
