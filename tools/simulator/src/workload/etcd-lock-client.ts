import { ETCD, etcdApi } from '@lockstep/adapter-etcd';
import { LeaseKind } from '@lockstep/model';
import type { ClientStream, EtcdConnection } from '../doors/etcd-connection.ts';
import { bytes, EtcdDoorClient, textOf } from './etcd-door-client.ts';

type KeepAlive = ReturnType<typeof etcdApi.LEASE.keepAlive.request.decode>;

interface Held {
  readonly lock: string;
  readonly key: string;
  /** Create revision of the key. */
  readonly token: number;
}

/** A stream of keep-alives, and when those that are not answered were sent. */
interface Keeper {
  readonly stream: ClientStream<KeepAlive>;
  readonly sentUs: number[];
}

interface Lease {
  readonly id: bigint;
  readonly ttlMs: number;
}

const LOCKS = 2;
const GONE = 'requested lease not found';

/**
 * Holds a lease, kept alive by a clock of its own, takes locks under it and writes what they
 * protect if the lock's key still has the create revision it was taken at; sleeps over it at times.
 */
export class EtcdLockClient extends EtcdDoorClient {
  #lease: Lease | undefined;
  #held: Held | undefined;
  #keeper: Keeper | undefined;
  #pausedUntilUs = 0;

  protected use(connection: EtcdConnection): void {
    const { stream } = this.context;
    const draw = stream.below(100);
    const [lease, held] = [this.#lease, this.#held];
    if (lease === undefined && held === undefined) this.#grant(connection);
    else if (held !== undefined && draw < 50) this.#guarded(connection, held);
    else if (held !== undefined && draw < 70) this.#unlock(connection, held);
    else if (draw < 85) this.#pause();
    else if (lease !== undefined && draw < 88) this.#revoke(connection, lease);
    else if (lease !== undefined && held === undefined) this.#lock(connection, lease);
    else this.done();
  }

  protected override disconnected(): void {
    this.#keeper = undefined;
  }

  #grant(connection: EtcdConnection): void {
    const { stream, world } = this.context;
    const sentUs = world.nowUs;
    const TTL = stream.between(1, 3);
    connection.unary(etcdApi.LEASE.grant, { TTL, ID: 0n }, (error, response) => {
      this.expect('grant', error);
      if (response !== undefined) {
        const { tokens } = this.context.oracle;
        const [id, ttlMs] = [response.ID, response.TTL * 1000];
        tokens.renewed(LeaseKind.Etcd, id, ttlMs, sentUs);
        this.#lease = { id, ttlMs };
        this.#keep(id, ttlMs);
      }
      this.done();
    });
  }

  /** A keep-alive every third of the lease's time, as client libraries send them. */
  #keep(id: bigint, ttlMs: number): void {
    this.later((ttlMs / 3) * (0.9 + 0.2 * this.context.stream.fraction()), () => {
      if (this.#lease?.id !== id || this.stopped) return;
      this.#keep(id, ttlMs);
      const { connection } = this;
      const { world } = this.context;
      if (connection?.isOver !== false || world.nowUs < this.#pausedUntilUs) return;
      this.#keeper ??= this.#openKeeper(connection);
      this.#keeper.sentUs.push(world.nowUs);
      this.#keeper.stream.send({ ID: id });
    });
  }

  /** Answers come in the order asked; none means nothing. */
  #openKeeper(connection: EtcdConnection): Keeper {
    const sentUs: number[] = [];
    const { oracle, world, name } = this.context;
    const stream = connection.stream(etcdApi.LEASE.keepAlive, false, {
      response: ({ ID, TTL }) => {
        const sent = sentUs.shift();
        if (sent === undefined) world.fail('AnsweredOnce', `${name}: a keep-alive too many`);
        else if (TTL > 0) oracle.tokens.renewed(LeaseKind.Etcd, ID, TTL * 1000, sent);
        else {
          if (!oracle.promises.sessions.hasEnded(LeaseKind.Etcd, ID)) {
            world.fail('SessionTruth', `${name} is told that lease ${ID} has ended, it has not`);
          }
          if (this.#lease?.id === ID) this.#lease = undefined;
        }
      },
      ended: (error) => {
        this.expect('keep-alive', error);
        if (this.#keeper?.stream === stream) this.#keeper = undefined;
      },
    });
    return { stream, sentUs };
  }

  #lock(connection: EtcdConnection, lease: Lease): void {
    const { stream } = this.context;
    const lock = `lock${stream.below(LOCKS)}`;
    let waits = true;
    const giveUp = connection.unary(
      etcdApi.LOCK.lock,
      { name: bytes(lock), lease: lease.id },
      (error, response) => {
        if (!waits) return;
        waits = false;
        this.expect('lock', error, GONE, 'session is expired', 'lease');
        if (response === undefined || connection.isOver) this.done();
        else this.#look(connection, lock, textOf(response.key));
      },
    );
    if (!stream.chance(0.3)) return;
    this.later(stream.exponential(500), () => {
      if (!waits) return;
      waits = false;
      this.count('etcd lock given up');
      giveUp();
      this.done();
    });
  }

  /** The token is the create revision of the key that holds. */
  #look(connection: EtcdConnection, lock: string, key: string): void {
    connection.unary(etcdApi.KV.range, { key: bytes(key) }, (error, response) => {
      this.expect('range', error);
      const kv = response?.kvs[0];
      if (kv !== undefined) {
        this.#held = { lock, key, token: kv.createRevision };
        this.count('lock taken at the etcd door');
      }
      this.done();
    });
  }

  #guarded(connection: EtcdConnection, { lock, key, token }: Held): void {
    const { promises } = this.context.oracle;
    const resource = `guarded/${lock}`;
    const text = `${token}@${key}#${this.unique()}`;
    const invoked = promises.realTime.invoke();
    const put = { key: bytes(resource), value: bytes(text), ...PLAIN };
    const compare = { result: 0, target: 1, key: bytes(key), createRevision: token };
    const request = {
      compare: [{ ...compare, rangeEnd: Buffer.alloc(0) }],
      success: [{ requestPut: put }],
      failure: [],
    };
    connection.unary(etcdApi.KV.txn, request as never, (error, response) => {
      this.expect('txn', error);
      if (response?.succeeded) {
        promises.realTime.wrote(this.witness, ETCD, resource, text, invoked);
        this.count('guarded write');
      } else if (response !== undefined) {
        this.count('stale holder is refused');
        this.#held = undefined;
      }
      this.done();
    });
  }

  #unlock(connection: EtcdConnection, { key }: Held): void {
    this.#held = undefined;
    connection.unary(etcdApi.LOCK.unlock, { key: bytes(key) }, (error) => {
      this.expect('unlock', error);
      this.done();
    });
  }

  #revoke(connection: EtcdConnection, { id }: Lease): void {
    this.#lease = undefined;
    connection.unary(etcdApi.LEASE.revoke, { ID: id }, (error) => {
      this.expect('revoke', error, GONE);
      this.done();
    });
  }

  /** Stands still, perhaps until the lease is gone and the lock another's. */
  #pause(): void {
    const { stream, world } = this.context;
    const ms = (this.#lease?.ttlMs ?? 1000) * 2 * stream.fraction();
    this.#pausedUntilUs = world.nowUs + ms * 1000;
    this.count('paused lock holder');
    this.later(ms, () => this.done());
  }
}

const PLAIN = { lease: 0n, prevKv: false, ignoreValue: false, ignoreLease: false };
