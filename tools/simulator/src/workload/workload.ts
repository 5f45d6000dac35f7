import type { MemberReplica } from '@lockstep/replica';
import type { SimNode } from '../node.ts';
import type { Oracle } from '../oracle.ts';
import type { Settings } from '../settings.ts';
import type { World } from '../world.ts';
import { type Client, type ClientContext, WaitTable } from './client.ts';
import { EtcdClient } from './etcd-client.ts';
import { RedisClient } from './redis-client.ts';
import { OpenSessions, ZooKeeperClient } from './zookeeper-client.ts';

/** The clients of a run: a few of each door at each member. */
export class Workload {
  readonly waits = new WaitTable();
  readonly #clients: Client[] = [];
  #stopped = false;

  readonly #world: World;
  readonly #oracle: Oracle;
  readonly #settings: Settings;
  readonly #sessions = new OpenSessions();

  constructor(world: World, oracle: Oracle, nodes: readonly SimNode[], settings: Settings) {
    this.#world = world;
    this.#oracle = oracle;
    this.#settings = settings;
    for (const node of nodes) this.#clients.push(...this.#clientsOf(node));
    oracle.openings.push((node, replica) => this.#follow(node, replica));
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

  start(): void {
    for (const client of this.#clients) client.start();
  }

  stop(): void {
    this.#stopped = true;
    for (const client of this.#clients) client.stop();
  }

  /** Clients that still wait for an answer. */
  get busy(): number {
    return this.#clients.filter((client) => client.busy).length;
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
