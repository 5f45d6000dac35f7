import type { Door } from './door.ts';
import type { Route } from './services/routes.ts';
import { type RpcError, rpcError } from './session.ts';

/**
 * What every request is asked before its handler runs: has this member replayed its log, may a
 * learner answer, must there be a leader. Undefined when it may pass.
 */
export function refusal(
  door: Door,
  route: Route,
  wantsLeader: boolean,
  request: unknown,
): RpcError | undefined {
  if (!door.replica.serving && !route.always) return rpcError('NO_LEADER');
  if (door.isLearner && !route.onLearner(request)) return rpcError('NOT_SUPPORTED_FOR_LEARNER');
  if (wantsLeader && !door.hasLeader) return rpcError('NO_LEADER');
  return undefined;
}
