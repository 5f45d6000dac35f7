import {
  DEFAULT_SETTINGS,
  EtcdDoorCore,
  type EtcdDoorSettings,
  LeaderMonitor,
  routes,
  WatchHub,
} from '@lockstep/adapter-etcd';
import { RedisDoorCore } from '@lockstep/adapter-redis';
import { resolveSettings, ZooKeeperDoorCore } from '@lockstep/adapter-zookeeper';
import type { Clock, Random, Scheduler } from '@lockstep/model';
import type { Replica } from '@lockstep/replica';
import { schedulerOf } from '../clock.ts';
import type { SimNode } from '../node.ts';
import type { Stream } from '../seed.ts';
import type { Settings } from '../settings.ts';
import type { Life, World } from '../world.ts';
import { EtcdConnection, type EtcdServer } from './etcd-connection.ts';
import { type ClientEnd, SimSocket } from './socket.ts';

interface Ports {
  readonly clock: Clock;
  readonly random: Random;
  readonly scheduler: Scheduler;
}

/** Unit of ZooKeeper's session timeouts: the least is two of them. */
const TICK_MS = 500;

/** The three doors of one process life, as production composes them, on connections of ours. */
export class MemberDoors {
  readonly node: SimNode;
  readonly #world: World;
  readonly #life: Life;
  readonly #stream: Stream;
  readonly #meanUs: number;
  readonly #redis: RedisDoorCore;
  readonly #zookeeper: ZooKeeperDoorCore;
  readonly #etcd: EtcdServer;
  readonly #open = new Set<SimSocket | EtcdConnection>();

  constructor(world: World, settings: Settings, node: SimNode, replica: Replica) {
    this.node = node;
    this.#world = world;
    this.#life = node.life;
    this.#stream = world.stream(`doors:${node.id}:${node.starts}`);
    this.#meanUs = settings.weather.meanUs;
    const ports: Ports = {
      clock: node.clock.clockOf(node.life),
      random: world.stream(`door-random:${node.id}:${node.starts}`),
      scheduler: schedulerOf(world, node.life),
    };
    const { electionMs } = settings;
    this.#redis = new RedisDoorCore({
      replica,
      ...ports,
      password: '',
      port: 6379,
      clientsMax: 1000,
      log: () => {},
    });
    const options = {
      replica,
      ...ports,
      address: '127.0.0.1:2181',
      tickMs: TICK_MS,
      sessionTimeoutMinMs: 2 * TICK_MS,
      electionTimeoutMs: electionMs,
      reapIntervalMs: 1000,
    };
    this.#zookeeper = new ZooKeeperDoorCore(resolveSettings(options, ports.scheduler, 2181));
    const etcd = { ...DEFAULT_SETTINGS, electionTimeoutMs: electionMs };
    this.#etcd = etcdServer(replica, ports, { ...etcd, watchProgressIntervalMs: 500 });
    node.onEnd(() => this.#lost());
  }

  get isOpen(): boolean {
    return this.#life.alive && this.node.isUp;
  }

  dialRedis(client: ClientEnd): SimSocket {
    const socket = this.#dial(client);
    socket.server = this.#redis.accept(socket);
    return socket;
  }

  dialZooKeeper(client: ClientEnd): SimSocket {
    const socket = this.#dial(client);
    socket.server = this.#zookeeper.accept({
      address: '127.0.0.1',
      port: socket.port,
      write: (chunks) => socket.write(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)),
      end: () => socket.end(),
      destroy: () => socket.destroy(),
      pause: () => socket.pause(),
      resume: () => socket.resume(),
      unsentBytes: () => socket.unsentBytes(),
    });
    return socket;
  }

  dialEtcd(closed: () => void): EtcdConnection {
    const place = { world: this.#world, stream: this.#stream, life: this.#life };
    const connection = new EtcdConnection({ ...place, meanUs: this.#meanUs }, this.#etcd, closed);
    this.#open.add(connection);
    return connection;
  }

  /** The network breaks every connection of clients; the member goes on. */
  reset(): void {
    for (const one of this.#open) {
      if (!one.isOver) one.reset();
    }
    this.#open.clear();
  }

  #dial(client: ClientEnd): SimSocket {
    const socket = new SimSocket(this.#world, this.#stream, this.#life, this.#meanUs, client);
    this.#open.add(socket);
    if (this.#open.size > 200) this.#sweep();
    return socket;
  }

  #sweep(): void {
    for (const one of this.#open) if (one.isOver) this.#open.delete(one);
  }

  #lost(): void {
    for (const one of this.#open) one.lost();
    this.#open.clear();
  }
}

function etcdServer(replica: Replica, ports: Ports, settings: EtcdDoorSettings): EtcdServer {
  const hub = new WatchHub(replica);
  const door = new EtcdDoorCore(replica, ports, settings, hub);
  const monitor = new LeaderMonitor(door);
  return { door, monitor, routes: new Map(routes(door).map((route) => [route.rpc.path, route])) };
}
