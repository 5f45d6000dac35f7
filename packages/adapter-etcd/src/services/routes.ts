import type { Door } from '../door.ts';
import type { RangeRequest } from '../gen/rpc.ts';
import type { ServerStreamHandler, StreamHandler, UnaryHandler } from '../session.ts';
import { UNIMPLEMENTED } from '../session.ts';
import * as api from './api.ts';
import { AuthService } from './auth.ts';
import { ClusterService } from './cluster.ts';
import { ElectionService } from './election.ts';
import { HealthService } from './health.ts';
import { KvService } from './kv.ts';
import { LeaseService } from './lease.ts';
import { LockService } from './lock.ts';
import { MaintenanceService } from './maintenance.ts';
import type { Rpc } from './rpc.ts';
import { WatchService } from './watch.ts';

/** An RPC bound to what answers it; the request and response types are hidden. */
// biome-ignore lint/suspicious/noExplicitAny: the table holds RPCs of mixed message types.
type Any = any;

export type Route = {
  readonly rpc: Rpc<Any, Any>;
  /** Whether a learner may answer that request; others are refused there. */
  readonly onLearner: (request: unknown) => boolean;
  /** Answers even while the member still replays its log. */
  readonly always: boolean;
} & (
  | { readonly kind: 'unary'; readonly handler: UnaryHandler<Any, Any> }
  | { readonly kind: 'server-stream'; readonly handler: ServerStreamHandler<Any, Any> }
  | { readonly kind: 'bidi'; readonly handler: StreamHandler<Any, Any> }
);

const never = (): boolean => false;
const always = (): boolean => true;

function unary<Q, S>(
  rpc: Rpc<Q, S>,
  handler: UnaryHandler<Q, S>,
  onLearner: (request: unknown) => boolean = never,
): Route {
  return { kind: 'unary', rpc, handler, onLearner, always: onLearner === always };
}

function serverStream<Q, S>(
  rpc: Rpc<Q, S>,
  handler: ServerStreamHandler<Q, S>,
  onLearner: (request: unknown) => boolean = never,
): Route {
  return { kind: 'server-stream', rpc, handler, onLearner, always: onLearner === always };
}

function bidi<Q, S>(rpc: Rpc<Q, S>, handler: StreamHandler<Q, S>): Route {
  return { kind: 'bidi', rpc, handler, onLearner: never, always: false };
}

/** Every RPC of the door and what answers it: an answer, etcd's own error, or Unimplemented. */
export function routes(door: Door): Route[] {
  const kv = new KvService(door);
  const leases = new LeaseService(door);
  return [
    ...kvRoutes(kv),
    ...leaseRoutes(leases),
    bidi(api.WATCH.watch, (call) => new WatchService(door).watch(call)),
    ...lockRoutes(new LockService(door, kv, leases), new ElectionService(door)),
    ...clusterRoutes(new ClusterService(door)),
    ...maintenanceRoutes(new MaintenanceService(door)),
    ...authRoutes(new AuthService(door)),
    ...healthRoutes(new HealthService(door)),
  ];
}

function kvRoutes(kv: KvService): Route[] {
  const serializable = (request: unknown): boolean => (request as RangeRequest).serializable;
  return [
    unary(api.KV.range, (request, call, done) => kv.range(request, call, done), serializable),
    unary(api.KV.put, (request, call, done) => kv.put(request, call, done)),
    unary(api.KV.deleteRange, (request, call, done) => kv.deleteRange(request, call, done)),
    unary(api.KV.txn, (request, call, done) => kv.txn(request, call, done)),
    unary(api.KV.compact, (request, call, done) => kv.compact(request, call, done)),
  ];
}

function leaseRoutes(leases: LeaseService): Route[] {
  return [
    unary(api.LEASE.grant, (request, call, done) => leases.grant(request, call, done)),
    unary(api.LEASE.revoke, (request, call, done) => leases.revoke(request, call, done)),
    bidi(api.LEASE.keepAlive, (call) => leases.keepAlive(call)),
    unary(api.LEASE.timeToLive, (request, call, done) => leases.timeToLive(request, call, done)),
    unary(api.LEASE.leases, (request, call, done) => leases.leases(request, call, done)),
  ];
}

function lockRoutes(lock: LockService, election: ElectionService): Route[] {
  return [
    unary(api.LOCK.lock, (request, call, done) => lock.lock(request, call, done)),
    unary(api.LOCK.unlock, (request, call, done) => lock.unlock(request, call, done)),
    unary(api.ELECTION.campaign, (request, call, done) => election.campaign(request, call, done)),
    unary(api.ELECTION.proclaim, (request, call, done) => election.proclaim(request, call, done)),
    unary(api.ELECTION.resign, (request, call, done) => election.resign(request, call, done)),
    unary(api.ELECTION.leader, (request, call, done) => election.leader(request, call, done)),
    serverStream(api.ELECTION.observe, (request, call) => election.observe(request, call)),
  ];
}

function clusterRoutes(cluster: ClusterService): Route[] {
  const { memberList, memberAdd, memberRemove, memberUpdate, memberPromote } = api.CLUSTER;
  return [
    unary(memberList, (request, call, done) => cluster.memberList(request, call, done)),
    unary(memberAdd, (request, call, done) => cluster.memberAdd(request, call, done)),
    unary(memberRemove, (request, call, done) => cluster.memberRemove(request, call, done)),
    unary(memberUpdate, (request, call, done) => cluster.memberUpdate(request, call, done)),
    unary(memberPromote, (request, call, done) => cluster.memberPromote(request, call, done)),
  ];
}

function maintenanceRoutes(service: MaintenanceService): Route[] {
  const { status, alarm, defragment, moveLeader, downgrade, snapshot, hash, hashKV } =
    api.MAINTENANCE;
  return [
    unary(status, (request, call, done) => service.status(request, call, done), always),
    unary(alarm, (request, call, done) => service.alarm(request, call, done)),
    unary(defragment, (request, call, done) => service.defragment(request, call, done)),
    unary(moveLeader, (request, call, done) => service.moveLeader(request, call, done)),
    unary(downgrade, (request, call, done) => service.downgrade(request, call, done)),
    unary(hash, service.refuse),
    unary(hashKV, service.refuse),
    serverStream(snapshot, (_request, call) => call.end(UNIMPLEMENTED), always),
  ];
}

function authRoutes(auth: AuthService): Route[] {
  const { status, authenticate, disable, ...changes } = api.AUTH;
  return [
    unary(status, (request, call, done) => auth.status(request, call, done)),
    unary(authenticate, (request, call, done) => auth.authenticate(request, call, done)),
    unary(disable, (request, call, done) => auth.disable(request, call, done)),
    ...Object.values(changes).map((rpc) => unary(rpc as Rpc<unknown, never>, auth.refuse)),
  ];
}

function healthRoutes(health: HealthService): Route[] {
  return [
    unary(api.HEALTH.check, (request, call, done) => health.check(request, call, done), always),
    serverStream(api.HEALTH.watch, (request, call) => health.watch(request, call), always),
  ];
}
