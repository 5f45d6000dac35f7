import type { Door } from '../door.ts';
import type { LockRequest, LockResponse, UnlockRequest, UnlockResponse } from '../gen/v3lock.ts';
import { keyBytes } from '../replies.ts';
import { type Call, type Done, rpcError } from '../session.ts';
import { Contest } from './contest.ts';
import type { KvService } from './kv.ts';
import type { LeaseService } from './lease.ts';

/** TTL of the lease that a Lock without one hangs on, in seconds; nobody renews it. */
const SESSION_TTL = 60;

/** The Lock service: a mutex for clients that have no recipe of their own. */
export class LockService {
  readonly #door: Door;
  readonly #kv: KvService;
  readonly #leases: LeaseService;

  constructor(door: Door, kv: KvService, leases: LeaseService) {
    this.#door = door;
    this.#kv = kv;
    this.#leases = leases;
  }

  lock(request: LockRequest, call: Call, done: Done<LockResponse>): void {
    if (request.lease !== 0n) {
      this.#lock(request, request.lease, call, done);
      return;
    }
    this.#leases.grant({ TTL: SESSION_TTL, ID: 0n }, call, (error, granted) => {
      if (error !== undefined) done(error);
      else this.#lock(request, granted!.ID, call, done);
    });
  }

  #lock(request: LockRequest, leaseId: bigint, call: Call, done: Done<LockResponse>): void {
    const name = request.name.toString('latin1');
    const contender = { name, leaseId, value: Buffer.alloc(0), proclaims: false };
    new Contest(this.#door, contender, call, (error, held) => {
      if (error !== undefined) done(error);
      else done(undefined, { header: this.#door.header(), key: keyBytes(held!.key) });
    });
  }

  /** Unlocking what is not locked is no error. */
  unlock(request: UnlockRequest, call: Call, done: Done<UnlockResponse>): void {
    if (request.key.length === 0) {
      done(rpcError('KEY_NOT_PROVIDED'));
      return;
    }
    const remove = { key: request.key, rangeEnd: Buffer.alloc(0), prevKv: false };
    this.#kv.deleteRange(remove, call, (error, response) => {
      if (error !== undefined) done(error);
      else done(undefined, { header: response!.header });
    });
  }
}
