import type { AnyProcedure } from '@lockstep/state-machine';
import { CHANGE_PROCEDURES } from './procedures/changes.ts';
import { attachSession, closeSession, openSession } from './procedures/sessions.ts';

/** Everything this door may put into the log. */
export const ZOOKEEPER_PROCEDURES: readonly AnyProcedure[] = [
  openSession,
  attachSession,
  closeSession,
  ...CHANGE_PROCEDURES,
];
