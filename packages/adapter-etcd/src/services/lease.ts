import { LeaseKind } from '@lockstep/model';
import { CommandReply, type Door } from '../door.ts';
import { etcdErrorOf } from '../errors.ts';
import type {
  LeaseGrantRequest,
  LeaseGrantResponse,
  LeaseKeepAliveRequest,
  LeaseKeepAliveResponse,
  LeaseLeasesRequest,
  LeaseLeasesResponse,
  LeaseRevokeRequest,
  LeaseRevokeResponse,
  LeaseTimeToLiveRequest,
  LeaseTimeToLiveResponse,
} from '../gen/rpc.ts';
import { type LeaseResult, writeLeaseGrant, writeLeaseRevoke } from '../procedures/lease.ts';
import { ProcedureId } from '../procedures/outcome.ts';
import { keyBytes } from '../replies.ts';
import { type Call, type Done, type RpcError, rpcError, type StreamCall } from '../session.ts';

/** Largest TTL of the API, in seconds. */
const TTL_MAX = 9_000_000_000;
/** Keep-alives of one stream that wait for an answer before it is read no further. */
const KEEP_ALIVES_MAX = 1000;

export class LeaseService {
  readonly #door: Door;

  constructor(door: Door) {
    this.#door = door;
  }

  /** Smallest TTL granted, in seconds: a holder must be able to renew across an election. */
  get ttlMin(): number {
    return Math.ceil((1.5 * this.#door.settings.electionTimeoutMs) / 1000);
  }

  grant(request: LeaseGrantRequest, _call: Call, done: Done<LeaseGrantResponse>): void {
    if (request.TTL > TTL_MAX) {
      done(rpcError('LEASE_TTL_TOO_LARGE'));
      return;
    }
    const door = this.#door;
    const ID = request.ID === 0n ? this.newId() : request.ID;
    const TTL = Math.max(request.TTL, this.ttlMin);
    const writer = door.command(ProcedureId.LeaseGrant);
    writeLeaseGrant(writer, ID, TTL);
    const reply = new CommandReply<LeaseResult, LeaseGrantResponse>(done, () =>
      done(undefined, { header: door.header(), ID, TTL, error: '' }),
    );
    door.submit(writer, reply, done);
  }

  /** A random positive id that is free here; the procedure refuses one taken meanwhile. */
  newId(): bigint {
    const { random } = this.#door.ports;
    for (;;) {
      const high = BigInt(random.u32() & 0x7fffffff);
      const id = (high << 32n) | BigInt(random.u32());
      const { state } = this.#door.replica;
      if (id !== 0n && state.leaseById(LeaseKind.Etcd, id) === undefined) return id;
    }
  }

  revoke(request: LeaseRevokeRequest, _call: Call, done: Done<LeaseRevokeResponse>): void {
    const door = this.#door;
    const writer = door.command(ProcedureId.LeaseRevoke);
    writeLeaseRevoke(writer, request.ID);
    const reply = new CommandReply<LeaseResult, LeaseRevokeResponse>(done, () =>
      done(undefined, { header: door.header() }),
    );
    door.submit(writer, reply, done);
  }

  keepAlive(call: StreamCall<LeaseKeepAliveRequest, LeaseKeepAliveResponse>): void {
    new KeepAliveStream(this.#door, call);
  }

  /** The leader's cluster time tells what is left; an unknown lease is no error but TTL -1. */
  timeToLive(
    request: LeaseTimeToLiveRequest,
    _call: Call,
    done: Done<LeaseTimeToLiveResponse>,
  ): void {
    const door = this.#door;
    const { ID } = request;
    door.barrier(({ clusterMs }) => {
      const { state } = door.replica;
      const header = door.header();
      const lease = state.leaseById(LeaseKind.Etcd, ID);
      if (lease === undefined) {
        return done(undefined, { header, ID, TTL: -1, grantedTTL: 0, keys: [] });
      }
      const TTL = Math.trunc((lease.deadline - clusterMs) / 1000);
      const grantedTTL = Math.trunc(lease.ttlMs / 1000);
      const keys = request.keys
        ? state.leaseKeys(lease.handle).map(({ key }) => keyBytes(key))
        : [];
      return done(undefined, { header, ID, TTL, grantedTTL, keys });
    }, done);
  }

  leases(_request: LeaseLeasesRequest, _call: Call, done: Done<LeaseLeasesResponse>): void {
    const leases = this.#door.replica.state.leases(LeaseKind.Etcd).map(({ id }) => ({ ID: id }));
    done(undefined, { header: this.#door.header(), leases });
  }
}

interface Slot {
  answer: LeaseKeepAliveResponse | undefined;
}

/** Keep-alives of one stream are answered in the order asked, each after its renewal applied. */
class KeepAliveStream {
  readonly #door: Door;
  readonly #call: StreamCall<LeaseKeepAliveRequest, LeaseKeepAliveResponse>;
  #slots: Slot[] = [];
  #halfClosed = false;
  #ended = false;

  constructor(door: Door, call: StreamCall<LeaseKeepAliveRequest, LeaseKeepAliveResponse>) {
    this.#door = door;
    this.#call = call;
    call.onRequest(({ ID }) => this.#renew(ID));
    call.onHalfClose(() => {
      this.#halfClosed = true;
      this.#flush();
    });
    call.onCancelled(() => {
      this.#ended = true;
      this.#slots = [];
    });
  }

  #renew(id: bigint): void {
    const slot: Slot = { answer: undefined };
    this.#slots.push(slot);
    if (this.#slots.length >= KEEP_ALIVES_MAX) this.#call.pause();
    const header = this.#door.header();
    const answer = (TTL: number): void => {
      slot.answer = { header, ID: id, TTL };
      this.#flush();
    };
    const fail = (error: RpcError): void => this.#fail(error);
    if (this.#renewKnown(id, answer, fail)) return;
    // Another member may have granted it a moment ago: look again once this one has caught up.
    this.#door.barrier(() => {
      if (!this.#renewKnown(id, answer, fail)) answer(0);
    }, fail);
  }

  #renewKnown(id: bigint, answer: (TTL: number) => void, fail: (error: RpcError) => void): boolean {
    const lease = this.#door.replica.state.leaseById(LeaseKind.Etcd, id);
    if (lease === undefined) return false;
    this.#door.replica.renew(lease.handle, {
      renewed: (alive) => answer(alive ? Math.trunc(lease.ttlMs / 1000) : 0),
      failed: (error) => fail(rpcError(etcdErrorOf(error))),
    });
    return true;
  }

  #flush(): void {
    if (this.#ended) return;
    let answered = 0;
    while (this.#slots[answered]?.answer !== undefined) {
      this.#call.send(this.#slots[answered]!.answer!);
      answered += 1;
    }
    if (answered > 0) this.#slots = this.#slots.slice(answered);
    if (this.#slots.length < KEEP_ALIVES_MAX / 2) this.#call.resume();
    if (this.#halfClosed && this.#slots.length === 0) this.#end();
  }

  #fail(error: RpcError): void {
    if (!this.#ended) this.#end(error);
  }

  #end(error?: RpcError): void {
    this.#ended = true;
    this.#slots = [];
    this.#call.end(error);
  }
}
