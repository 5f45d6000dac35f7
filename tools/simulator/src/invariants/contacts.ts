import type { MemberId, Term } from '@lockstep/model';
import type { MemberReplica } from '@lockstep/replica';
import { CLOCK_RATE_MIN } from '../clock.ts';
import type { SimNode } from '../node.ts';
import type { Settings } from '../settings.ts';
import type { World } from '../world.ts';
import { isQuorumOf } from './configurations.ts';

/** A process that stands still misses ticks: a longer gap between its events counts as this. */
const AWAKE_GAP_US = 100_000;
/** As the member's tuning has it: what a period of its own check is counted in. */
const TICK_MS = 50;
/** For changes of a clock's rate and for the turn of the member in which the tick falls. */
const SLACK_MS = 30;

/** One leadership, in awake time (µs) since it began. */
interface Reign {
  readonly replica: MemberReplica;
  readonly term: Term;
  lastUs: number;
  awakeUs: number;
  /** When a frame of that member came last. */
  readonly heard: Map<MemberId, number>;
  /** Since when no majority was heard within a period; undefined: one was. */
  silentFrom: number | undefined;
  /** When the configuration is looked at next: its status costs something. */
  dueUs: number;
}

/**
 * CheckQuorum: whoever has heard no majority of the voters for two of its election timeouts
 * does not lead any more (thesis §6.2). Any frame counts as hearing, so this asks for less than
 * the leader asks of itself.
 */
export class Contacts {
  readonly #world: World;
  /** A period of the leader's own check takes no longer, whatever its clock. */
  readonly #periodUs: number;
  readonly #reigns = new Map<MemberId, Reign>();

  constructor(world: World, { electionMs, timerGranularityMs }: Settings) {
    this.#world = world;
    // Each tick is late by the granularity of the timers at most, on the slowest clock allowed.
    const tickMs = (TICK_MS + timerGranularityMs + SLACK_MS) / CLOCK_RATE_MIN;
    this.#periodUs = ((electionMs * tickMs) / TICK_MS) * 1000;
  }

  /** A frame of that member came to a process. */
  heard(by: MemberId, from: MemberId): void {
    const reign = this.#reigns.get(by);
    reign?.heard.set(from, reign.awakeUs);
  }

  /** An event of this member is over. */
  touched(node: SimNode, replica: MemberReplica): void {
    const { role, term } = replica.raft;
    if (role !== 'leader') {
      this.#reigns.delete(node.id);
      return;
    }
    const { nowUs } = this.#world;
    const reign = this.#reigns.get(node.id);
    if (reign === undefined || reign.replica !== replica || reign.term !== term) {
      const fresh = { lastUs: nowUs, awakeUs: 0, silentFrom: undefined, dueUs: 0 };
      this.#reigns.set(node.id, { replica, term, heard: new Map(), ...fresh });
      return;
    }
    reign.awakeUs += Math.min(nowUs - reign.lastUs, AWAKE_GAP_US);
    reign.lastUs = nowUs;
    if (reign.awakeUs < reign.dueUs) return;
    reign.dueUs = reign.awakeUs + this.#periodUs / 16;
    this.#check(node, reign);
  }

  #check(node: SimNode, reign: Reign): void {
    const { awakeUs, heard } = reign;
    const periodUs = this.#periodUs;
    const { configuration } = reign.replica.raft.status();
    const ids = [...configuration.voters, ...configuration.votersOutgoing];
    const active = ids.filter((id) => id === node.id || (heard.get(id) ?? 0) >= awakeUs - periodUs);
    if (isQuorumOf(configuration, new Set(active))) {
      reign.silentFrom = undefined;
      return;
    }
    reign.silentFrom ??= awakeUs;
    if (awakeUs - reign.silentFrom <= periodUs) return;
    const ms = Math.round((awakeUs - reign.silentFrom + periodUs) / 1000);
    const what = `though it has heard no majority for ${ms} ms`;
    this.#world.fail('CheckQuorum', `member ${node.id} still leads term ${reign.term}, ${what}`);
  }
}
