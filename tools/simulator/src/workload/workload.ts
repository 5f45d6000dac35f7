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

  constructor(world: World, oracle: Oracle, nodes: readonly SimNode[], settings: Settings) {
    const shared = new OpenSessions();
    const kinds = [
      (context: ClientContext) => new EtcdClient(context),
      (context: ClientContext) => new ZooKeeperClient(context, shared),
      (context: ClientContext) => new RedisClient(context),
    ];
    for (const node of nodes) {
      for (let i = 0; i < settings.clientsPerNode * kinds.length; i++) {
        const make = kinds[i % kinds.length]!;
        const name = `${node.id}-${i}`;
        const context: ClientContext = {
          world,
          oracle,
          node,
          stream: world.stream(`client:${name}`),
          thinkMs: settings.thinkMs,
          name,
          waits: this.waits,
        };
        this.#clients.push(make(context));
      }
    }
    oracle.openings.push((node, replica) => this.#follow(node, replica));
  }

  start(): void {
    for (const client of this.#clients) client.start();
  }

  stop(): void {
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
