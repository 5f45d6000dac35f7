import { OPEN_ACL } from './acl.ts';
import type { SetWatchesRequest } from './codec.ts';
import { EventType } from './opcodes.ts';
import type { Session } from './session.ts';
import { findNode } from './tree.ts';

/** Header zxid of events that stand for changes long past. */
const NO_ZXID = -1;

/**
 * setWatches of a reconnected client: for each path either tells at once what happened since
 * `since`, or registers the watch again. Persistent watches do not catch up, as in ZooKeeper.
 */
export function catchUp(session: Session, request: SetWatchesRequest): void {
  const { door } = session;
  const { state, watches } = door;
  const tell = (type: EventType, path: string, acl = OPEN_ACL) =>
    session.notify(type, path, NO_ZXID, acl);
  for (const path of request.data) {
    const node = findNode(state, path);
    if (node === undefined) tell(EventType.Deleted, path);
    else if (node.mzxid > request.since) tell(EventType.DataChanged, path, node.acl);
    else watches.add('data', path, session);
  }
  for (const path of request.exist) {
    const node = findNode(state, path);
    if (node === undefined) watches.add('data', path, session);
    else tell(EventType.Created, path, node.acl);
  }
  for (const path of request.child) {
    const node = findNode(state, path);
    if (node === undefined) tell(EventType.Deleted, path);
    else if (node.pzxid > request.since) tell(EventType.ChildrenChanged, path, node.acl);
    else watches.add('child', path, session);
  }
  for (const path of request.persistent) watches.add('persistent', path, session);
  for (const path of request.recursive) watches.add('recursive', path, session);
}
