import {
  ETCD,
  ProcedureId,
  writeCompact,
  writeDelete,
  writeLeaseGrant,
  writeLeaseRevoke,
  writePut,
  writeTxn,
} from '@lockstep/adapter-etcd';
import { BinaryWriter, LeaseKind, writeCommandHead } from '@lockstep/model';
import type { MemberReplica } from '@lockstep/replica';
import { Client } from './client.ts';

type PutRequest = Parameters<typeof writePut>[1];
type TxnRequest = Parameters<typeof writeTxn>[1];

const KEYS = 8;
const NOTHING = Buffer.alloc(0);

interface HeldLease {
  readonly id: bigint;
  readonly ttlMs: number;
}

/** Puts, deletes, transactions, leases, compactions and linearizable reads of the etcd door. */
export class EtcdClient extends Client {
  #lease: HeldLease | undefined;

  protected act(replica: MemberReplica): void {
    const { stream } = this.context;
    const draw = stream.below(100);
    if (draw < 30) this.#command(replica, ProcedureId.Put, (w) => writePut(w, this.#put(0n)));
    else if (draw < 40) this.#read(replica);
    else if (draw < 45) this.#readFormer(replica);
    else if (draw < 60) this.#compareAndPut(replica);
    else if (draw < 68) this.#delete(replica, false);
    else if (draw < 70) this.#delete(replica, true);
    else if (draw < 72) this.#compact(replica);
    else this.#leased(replica);
  }

  #key(): Buffer {
    return Buffer.from(`k${this.context.stream.below(KEYS)}`);
  }

  #put(lease: bigint): PutRequest {
    const { stream } = this.context;
    const bytes = stream.chance(0.01) ? stream.below(40_000) : stream.below(200);
    const value = Buffer.from(this.unique().padEnd(bytes, '.'));
    const flags = { prevKv: false, ignoreValue: false, ignoreLease: false };
    return { key: this.#key(), value, lease, ...flags };
  }

  #command(replica: MemberReplica, procedure: number, write: (writer: BinaryWriter) => void): void {
    const writer = writeCommandHead(new BinaryWriter(128), procedure, 1);
    write(writer);
    this.submit(replica, writer.take(), () => this.done());
  }

  #read(replica: MemberReplica): void {
    const { oracle, node } = this.context;
    const done = (): void => this.done();
    oracle.commands.barrier(node, replica, done, done);
  }

  #readFormer(replica: MemberReplica): void {
    const { oracle, node, stream } = this.context;
    const { state } = replica;
    const oldest = Math.max(1, state.compactedRevision(ETCD));
    const revision = stream.between(Math.max(oldest, state.revision - 60), state.revision);
    oracle.versions.read(node, replica, revision, () => this.done());
  }

  #compareAndPut(replica: MemberReplica): void {
    const put = this.#put(0n);
    const { stream } = this.context;
    const request = {
      compare: [
        {
          result: stream.below(3),
          target: 2,
          key: this.#key(),
          modRevision: replica.state.revision,
          rangeEnd: NOTHING,
        },
      ],
      success: [{ requestPut: put }, { requestPut: { ...this.#put(0n), key: Buffer.from('kz') } }],
      failure: [{ requestDeleteRange: { key: this.#key(), rangeEnd: NOTHING, prevKv: false } }],
    } as TxnRequest;
    this.#command(replica, ProcedureId.Txn, (writer) => writeTxn(writer, request));
  }

  #delete(replica: MemberReplica, all: boolean): void {
    const key = all ? Buffer.from('k') : this.#key();
    const request = { key, rangeEnd: all ? Buffer.from('l') : NOTHING, prevKv: false };
    this.#command(replica, ProcedureId.DeleteRange, (writer) => writeDelete(writer, request));
  }

  #compact(replica: MemberReplica): void {
    const revision = Math.max(1, replica.state.revision - this.context.stream.below(50));
    this.#command(replica, ProcedureId.Compact, (writer) => writeCompact(writer, revision));
  }

  #leased(replica: MemberReplica): void {
    const lease = this.#lease;
    if (lease === undefined) {
      this.#grant(replica);
      return;
    }
    const draw = this.context.stream.below(10);
    if (draw < 3) {
      this.#command(replica, ProcedureId.Put, (w) => writePut(w, this.#put(lease.id)));
    } else if (draw < 8) {
      this.#keepAlive(replica, lease);
    } else if (draw < 9) {
      this.#lease = undefined;
      this.#command(replica, ProcedureId.LeaseRevoke, (w) => writeLeaseRevoke(w, lease.id));
    } else {
      // Left to expire.
      this.#lease = undefined;
      this.done();
    }
  }

  #grant(replica: MemberReplica): void {
    const { world, stream, oracle } = this.context;
    const id = BigInt(stream.u32()) + 1n;
    const seconds = stream.between(1, 4);
    const writer = writeCommandHead(new BinaryWriter(32), ProcedureId.LeaseGrant, 1);
    writeLeaseGrant(writer, id, seconds);
    const sentUs = world.nowUs;
    this.submit(replica, writer.take(), (outcome) => {
      const result = outcome?.kind === 'done' ? (outcome.result as { kind: string }) : undefined;
      const lease = replica.state.leaseById(LeaseKind.Etcd, id);
      if (result?.kind === 'lease' && lease !== undefined) {
        oracle.tokens.renewed(LeaseKind.Etcd, id, seconds * 1000, sentUs);
        this.#lease = { id, ttlMs: seconds * 1000 };
      }
      this.done();
    });
  }

  #keepAlive(replica: MemberReplica, lease: HeldLease): void {
    const { world, oracle, node } = this.context;
    const { life } = node;
    const known = replica.state.leaseById(LeaseKind.Etcd, lease.id);
    if (known === undefined) {
      this.#lease = undefined;
      this.done();
      return;
    }
    const sentUs = world.nowUs;
    replica.renew(known.handle, {
      renewed: (alive) => {
        if (!life.alive) return;
        if (alive) oracle.tokens.renewed(LeaseKind.Etcd, lease.id, lease.ttlMs, sentUs);
        else this.#lease = undefined;
        this.done();
      },
      failed: () => {
        if (life.alive) this.done();
      },
    });
  }
}
