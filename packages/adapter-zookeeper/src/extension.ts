import { LeaseKind } from '@lockstep/model';
import type { Extension } from '@lockstep/state-machine';
import { endSession } from './procedures/sessions.ts';
import { ZOOKEEPER_PROCEDURES } from './procedures.ts';
import { ZOOKEEPER_KEYSPACE } from './tree.ts';

/** What the ZooKeeper door adds to the state machine: its tree, its procedures, session end. */
export const zookeeperExtension: Extension = {
  name: 'zookeeper',
  keyspaces: [ZOOKEEPER_KEYSPACE],
  procedures: ZOOKEEPER_PROCEDURES,
  leaseEnded: new Map([[LeaseKind.ZooKeeper, endSession]]),
};
