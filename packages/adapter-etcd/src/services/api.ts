import * as health from '../gen/health.ts';
import * as rpc from '../gen/rpc.ts';
import * as v3election from '../gen/v3election.ts';
import * as v3lock from '../gen/v3lock.ts';
import { bidi, serverStream, unary } from './rpc.ts';

/** Every RPC of the etcd v3 API with its messages, by service. */

export const KV = {
  range: unary('/etcdserverpb.KV/Range', rpc.RangeRequest, rpc.RangeResponse),
  put: unary('/etcdserverpb.KV/Put', rpc.PutRequest, rpc.PutResponse),
  deleteRange: unary(
    '/etcdserverpb.KV/DeleteRange',
    rpc.DeleteRangeRequest,
    rpc.DeleteRangeResponse,
  ),
  txn: unary('/etcdserverpb.KV/Txn', rpc.TxnRequest, rpc.TxnResponse),
  compact: unary('/etcdserverpb.KV/Compact', rpc.CompactionRequest, rpc.CompactionResponse),
} as const;

export const WATCH = {
  watch: bidi('/etcdserverpb.Watch/Watch', rpc.WatchRequest, rpc.WatchResponse),
} as const;

export const LEASE = {
  grant: unary('/etcdserverpb.Lease/LeaseGrant', rpc.LeaseGrantRequest, rpc.LeaseGrantResponse),
  revoke: unary('/etcdserverpb.Lease/LeaseRevoke', rpc.LeaseRevokeRequest, rpc.LeaseRevokeResponse),
  keepAlive: bidi(
    '/etcdserverpb.Lease/LeaseKeepAlive',
    rpc.LeaseKeepAliveRequest,
    rpc.LeaseKeepAliveResponse,
  ),
  timeToLive: unary(
    '/etcdserverpb.Lease/LeaseTimeToLive',
    rpc.LeaseTimeToLiveRequest,
    rpc.LeaseTimeToLiveResponse,
  ),
  leases: unary('/etcdserverpb.Lease/LeaseLeases', rpc.LeaseLeasesRequest, rpc.LeaseLeasesResponse),
} as const;

export const CLUSTER = {
  memberAdd: unary('/etcdserverpb.Cluster/MemberAdd', rpc.MemberAddRequest, rpc.MemberAddResponse),
  memberRemove: unary(
    '/etcdserverpb.Cluster/MemberRemove',
    rpc.MemberRemoveRequest,
    rpc.MemberRemoveResponse,
  ),
  memberUpdate: unary(
    '/etcdserverpb.Cluster/MemberUpdate',
    rpc.MemberUpdateRequest,
    rpc.MemberUpdateResponse,
  ),
  memberList: unary(
    '/etcdserverpb.Cluster/MemberList',
    rpc.MemberListRequest,
    rpc.MemberListResponse,
  ),
  memberPromote: unary(
    '/etcdserverpb.Cluster/MemberPromote',
    rpc.MemberPromoteRequest,
    rpc.MemberPromoteResponse,
  ),
} as const;

export const MAINTENANCE = {
  alarm: unary('/etcdserverpb.Maintenance/Alarm', rpc.AlarmRequest, rpc.AlarmResponse),
  status: unary('/etcdserverpb.Maintenance/Status', rpc.StatusRequest, rpc.StatusResponse),
  defragment: unary(
    '/etcdserverpb.Maintenance/Defragment',
    rpc.DefragmentRequest,
    rpc.DefragmentResponse,
  ),
  hash: unary('/etcdserverpb.Maintenance/Hash', rpc.HashRequest, rpc.HashResponse),
  hashKV: unary('/etcdserverpb.Maintenance/HashKV', rpc.HashKVRequest, rpc.HashKVResponse),
  snapshot: serverStream(
    '/etcdserverpb.Maintenance/Snapshot',
    rpc.SnapshotRequest,
    rpc.SnapshotResponse,
  ),
  moveLeader: unary(
    '/etcdserverpb.Maintenance/MoveLeader',
    rpc.MoveLeaderRequest,
    rpc.MoveLeaderResponse,
  ),
  downgrade: unary(
    '/etcdserverpb.Maintenance/Downgrade',
    rpc.DowngradeRequest,
    rpc.DowngradeResponse,
  ),
} as const;

export const AUTH = {
  enable: unary('/etcdserverpb.Auth/AuthEnable', rpc.AuthEnableRequest, rpc.AuthEnableResponse),
  disable: unary('/etcdserverpb.Auth/AuthDisable', rpc.AuthDisableRequest, rpc.AuthDisableResponse),
  status: unary('/etcdserverpb.Auth/AuthStatus', rpc.AuthStatusRequest, rpc.AuthStatusResponse),
  authenticate: unary(
    '/etcdserverpb.Auth/Authenticate',
    rpc.AuthenticateRequest,
    rpc.AuthenticateResponse,
  ),
  userAdd: unary('/etcdserverpb.Auth/UserAdd', rpc.AuthUserAddRequest, rpc.AuthUserAddResponse),
  userGet: unary('/etcdserverpb.Auth/UserGet', rpc.AuthUserGetRequest, rpc.AuthUserGetResponse),
  userList: unary('/etcdserverpb.Auth/UserList', rpc.AuthUserListRequest, rpc.AuthUserListResponse),
  userDelete: unary(
    '/etcdserverpb.Auth/UserDelete',
    rpc.AuthUserDeleteRequest,
    rpc.AuthUserDeleteResponse,
  ),
  userChangePassword: unary(
    '/etcdserverpb.Auth/UserChangePassword',
    rpc.AuthUserChangePasswordRequest,
    rpc.AuthUserChangePasswordResponse,
  ),
  userGrantRole: unary(
    '/etcdserverpb.Auth/UserGrantRole',
    rpc.AuthUserGrantRoleRequest,
    rpc.AuthUserGrantRoleResponse,
  ),
  userRevokeRole: unary(
    '/etcdserverpb.Auth/UserRevokeRole',
    rpc.AuthUserRevokeRoleRequest,
    rpc.AuthUserRevokeRoleResponse,
  ),
  roleAdd: unary('/etcdserverpb.Auth/RoleAdd', rpc.AuthRoleAddRequest, rpc.AuthRoleAddResponse),
  roleGet: unary('/etcdserverpb.Auth/RoleGet', rpc.AuthRoleGetRequest, rpc.AuthRoleGetResponse),
  roleList: unary('/etcdserverpb.Auth/RoleList', rpc.AuthRoleListRequest, rpc.AuthRoleListResponse),
  roleDelete: unary(
    '/etcdserverpb.Auth/RoleDelete',
    rpc.AuthRoleDeleteRequest,
    rpc.AuthRoleDeleteResponse,
  ),
  roleGrantPermission: unary(
    '/etcdserverpb.Auth/RoleGrantPermission',
    rpc.AuthRoleGrantPermissionRequest,
    rpc.AuthRoleGrantPermissionResponse,
  ),
  roleRevokePermission: unary(
    '/etcdserverpb.Auth/RoleRevokePermission',
    rpc.AuthRoleRevokePermissionRequest,
    rpc.AuthRoleRevokePermissionResponse,
  ),
} as const;

export const LOCK = {
  lock: unary('/v3lockpb.Lock/Lock', v3lock.LockRequest, v3lock.LockResponse),
  unlock: unary('/v3lockpb.Lock/Unlock', v3lock.UnlockRequest, v3lock.UnlockResponse),
} as const;

export const ELECTION = {
  campaign: unary(
    '/v3electionpb.Election/Campaign',
    v3election.CampaignRequest,
    v3election.CampaignResponse,
  ),
  proclaim: unary(
    '/v3electionpb.Election/Proclaim',
    v3election.ProclaimRequest,
    v3election.ProclaimResponse,
  ),
  leader: unary(
    '/v3electionpb.Election/Leader',
    v3election.LeaderRequest,
    v3election.LeaderResponse,
  ),
  observe: serverStream(
    '/v3electionpb.Election/Observe',
    v3election.LeaderRequest,
    v3election.LeaderResponse,
  ),
  resign: unary(
    '/v3electionpb.Election/Resign',
    v3election.ResignRequest,
    v3election.ResignResponse,
  ),
} as const;

export const HEALTH = {
  check: unary(
    '/grpc.health.v1.Health/Check',
    health.HealthCheckRequest,
    health.HealthCheckResponse,
  ),
  watch: serverStream(
    '/grpc.health.v1.Health/Watch',
    health.HealthCheckRequest,
    health.HealthCheckResponse,
  ),
} as const;
