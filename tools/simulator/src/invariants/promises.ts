import type { World } from '../world.ts';
import { EtcdWatches } from './etcd-watches.ts';
import { Expiries } from './expiries.ts';
import { Guards } from './guards.ts';
import type { History } from './history.ts';
import { Messages } from './messages.ts';
import { RealTime } from './real-time.ts';
import { Registers } from './registers.ts';
import { Sessions } from './sessions.ts';
import { TreeViews } from './tree-views.ts';

/** What the doors promise to their clients, held against the canonical history. */
export class Promises {
  readonly registers: Registers;
  readonly realTime: RealTime;
  readonly messages: Messages;
  readonly expiries: Expiries;
  readonly sessions: Sessions;
  readonly guards: Guards;
  readonly views: TreeViews;
  readonly etcdWatches: EtcdWatches;

  constructor(world: World, history: History) {
    this.registers = new Registers(history);
    this.realTime = new RealTime(world, this.registers);
    this.messages = new Messages(world, history);
    this.expiries = new Expiries(world, history);
    this.guards = new Guards(world, history);
    this.sessions = new Sessions(world, history);
    this.views = new TreeViews(world, history, this.registers);
    this.etcdWatches = new EtcdWatches(world, history, this.registers);
  }

  counts(): [name: string, count: number][] {
    return [
      ['writes through doors', this.realTime.writes],
      ['reads through doors', this.realTime.reads],
      ['messages heard', this.messages.received],
      ['guarded writes applied', this.guards.writes],
      ['etcd events', this.etcdWatches.told],
      ['zookeeper events', this.views.events],
      ['leases and sessions ended', this.sessions.ends],
    ];
  }
}
