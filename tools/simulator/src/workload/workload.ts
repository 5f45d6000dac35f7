import type { MemberReplica } from '@lockstep/replica';
import type { Defects } from '../defects.ts';
import type { SimNode } from '../node.ts';
import type { Oracle } from '../oracle.ts';
import type { Stream } from '../seed.ts';
import type { Settings } from '../settings.ts';
import type { World } from '../world.ts';
import { type Client, type ClientContext, WaitTable } from './client.ts';
import { DeposedReads } from './deposed-reads.ts';
import { type DoorClient, type DoorContext, Doorways } from './door-client.ts';
import { EtcdClient } from './etcd-client.ts';
import { EtcdDataClient } from './etcd-data-client.ts';
import { EtcdLockClient } from './etcd-lock-client.ts';
import { EtcdWatcher } from './etcd-watcher.ts';
import { RedisClient } from './redis-client.ts';
import { RedisDataClient, RedisScriptClient } from './redis-door-client.ts';
import { RedisLockClient } from './redis-lock-client.ts';
import { RedisSubscriber } from './redis-subscriber.ts';
import { OpenSessions, ZooKeeperClient } from './zookeeper-client.ts';
import { ZooKeeperLockClient } from './zookeeper-lock-client.ts';
import { ZooKeeperTreeClient } from './zookeeper-tree-client.ts';

/** The clients of a run: a few of each door at each member. */
export class Workload {
  readonly waits = new WaitTable();
  readonly #clients: Client[] = [];
  readonly #doorClients: DoorClient[];
  readonly #doorways: Doorways;
  readonly #deposedReads: DeposedReads;
  #stopped = false;

  readonly #world: World;
  readonly #oracle: Oracle;
  readonly #settings: Settings;
  readonly #sessions = new OpenSessions();

  constructor(
    world: World,
    oracle: Oracle,
    nodes: readonly SimNode[],
    settings: Settings,
    defects: Defects = {},
  ) {
    this.#world = world;
    this.#oracle = oracle;
    this.#settings = settings;
    this.#deposedReads = new DeposedReads(world, oracle, nodes);
    for (const node of nodes) this.#clients.push(...this.#clientsOf(node));
    const doorways = new Doorways(world, settings, oracle, defects);
    this.#doorClients = this.#clientsOfDoors(doorways);
    this.#doorways = doorways;
    oracle.openings.push((node, replica) => {
      this.#follow(node, replica);
      doorways.opened(node, replica);
    });
  }

  /** A member that came later gets clients as well. */
  join(node: SimNode): void {
    const clients = this.#clientsOf(node);
    this.#clients.push(...clients);
    if (!this.#stopped) for (const client of clients) client.start();
  }

  #clientsOf(node: SimNode): Client[] {
    const { clientsPerNode, thinkMs } = this.#settings;
    const clients: Client[] = [];
    for (let i = 0; i < 3 * clientsPerNode; i++) {
      const name = `${node.id}-${i}`;
      const context: ClientContext = {
        world: this.#world,
        oracle: this.#oracle,
        node,
        stream: this.#world.stream(`client:${name}`),
        thinkMs,
        name,
        waits: this.waits,
      };
      if (i % 3 === 0) clients.push(new EtcdClient(context));
      else if (i % 3 === 1) clients.push(new ZooKeeperClient(context, this.#sessions));
      else clients.push(new RedisClient(context));
    }
    return clients;
  }

  #clientsOfDoors(doorways: Doorways): DoorClient[] {
    const [world, oracle, settings] = [this.#world, this.#oracle, this.#settings];
    const context = (name: string): DoorContext => {
      const stream = world.stream(`client:${name}`);
      return { world, oracle, settings, doorways, stream, name };
    };
    const clients: DoorClient[] = [];
    for (let i = 0; i < settings.scriptClients; i++) {
      clients.push(new RedisScriptClient(context(`script${i}`)));
      clients.push(new RedisSubscriber(context(`listener${i}`), true));
    }
    for (let i = 0; i < settings.doorClients; i++) {
      clients.push(new RedisDataClient(context(`data${i}`)));
      clients.push(new RedisLockClient(context(`lock${i}`)));
      clients.push(new ZooKeeperTreeClient(context(`tree${i}`)));
      clients.push(new ZooKeeperLockClient(context(`recipe${i}`)));
      clients.push(new EtcdDataClient(context(`kv${i}`)));
      clients.push(new EtcdLockClient(context(`mutex${i}`)));
      clients.push(new EtcdWatcher(context(`watcher${i}`)));
      clients.push(new RedisSubscriber(context(`ear${i}`), world.seed % 2 === 0));
    }
    return clients;
  }

  start(): void {
    this.#deposedReads.start();
    for (const client of [...this.#clients, ...this.#doorClients]) client.start();
    if (this.#doorClients.length > 0) this.#breakConnections(this.#world.stream('resets'));
  }

  /** Now and then the network breaks the clients' connections to a member. */
  #breakConnections(stream: Stream): void {
    this.#world.after(stream.exponential(3_000_000), undefined, 'reset', () => {
      if (this.#stopped) return;
      this.#doorways.reset(stream);
      this.#breakConnections(stream);
    });
  }

  stop(): void {
    this.#stopped = true;
    this.#deposedReads.stop();
    for (const client of [...this.#clients, ...this.#doorClients]) client.stop();
  }

  /** Clients that still wait for an answer. */
  get busy(): number {
    const all = [...this.#clients, ...this.#doorClients];
    return all.filter((client) => client.busy).length;
  }

  /** The cluster is at rest: clients check that nothing is owed to them. */
  settled(): void {
    this.#oracle.promises.realTime.settled();
    for (const client of this.#doorClients) client.settled();
  }

  /** Clients keep nothing alive any more: leases and sessions run out. */
  release(): void {
    for (const client of this.#doorClients) client.release();
  }

  /** Tells queued clients of a member how their waiting ended. */
  #follow(node: SimNode, replica: MemberReplica): void {
    const { life } = node;
    node.onEnd(() => this.waits.drop(node.id, false));
    replica.subscribe({
      transaction: ({ events }) => {
        if (!life.alive) return;
        for (const event of events) {
          if (event.kind !== 'waiter' || event.waiter.origin !== node.id) continue;
          const { incarnation, request } = event.waiter;
          this.waits.ended(`${node.id}/${incarnation}/${request}`, event.result);
        }
      },
      skipped: () => {
        if (life.alive) this.waits.drop(node.id, true);
      },
    });
  }
}
