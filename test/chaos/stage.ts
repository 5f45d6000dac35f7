import { monotonicNs, type Operation, type Recorder } from '../../tools/checker/src/index.ts';
import type { Cluster, Member } from '../support/cluster.ts';
import { pass } from '../support/until.ts';
import { Random } from './random.ts';

/** Refused for certain: nothing happened. */
export class Refused extends Error {
  override name = 'Refused';
}

/** What all clients of a run share. */
export class Stage {
  readonly cluster: Cluster;
  readonly recorder: Recorder;
  readonly seed: number;
  stopping = false;
  /** Unique keys whose write was acknowledged: each must be there in the end. */
  readonly acknowledged: { readonly door: Operation['door']; readonly key: string }[] = [];

  constructor(cluster: Cluster, recorder: Recorder, seed: number) {
    this.cluster = cluster;
    this.recorder = recorder;
    this.seed = seed;
  }
}

/** A request may be under way this long; then its outcome is unknown and its connection closed. */
export const REQUEST_MS = 4000;

/** Rejects when no answer comes in time. */
export function within<T>(promise: Promise<T>, ms = REQUEST_MS): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer in ${ms} ms`)), ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

type Answered = 'result' | 'revision' | 'mod' | 'actual';
type Asked<T> = T extends Operation
  ? Omit<T, 'client' | 'door' | 'call' | 'return' | 'outcome' | Answered>
  : never;
/** What is asked: the operation without who, when and what came of it. */
export type Request = Asked<Operation>;
/** What the answer tells of it. */
export type Told = Partial<Record<Answered, unknown>>;

/**
 * One client in a closed loop: connects, asks one thing after the other, and connects anew when it
 * is not answered. Everything it asks stands in the history.
 */
export abstract class Actor {
  readonly stage: Stage;
  readonly door: Operation['door'];
  readonly name: string;
  readonly random: Random;
  /** Where it connects; undefined: to any. */
  readonly home: number | undefined;
  #count = 0;

  constructor(stage: Stage, door: Operation['door'], name: string, home?: number) {
    this.stage = stage;
    this.door = door;
    this.name = name;
    this.home = home;
    this.random = new Random(stage.seed, name);
  }

  /** Until the stage stops. */
  async run(): Promise<void> {
    while (!this.stage.stopping) {
      // A member that is gone, an answer that did not come: whoever was asked has recorded it.
      await this.session().catch(() => undefined);
      await pass(this.random.between(20, 100));
    }
  }

  /** From connecting to the first unknown outcome, or the end. */
  protected abstract session(): Promise<void>;

  member(): Member {
    const { members } = this.stage.cluster;
    const member = this.home === undefined ? undefined : members[this.home];
    return member ?? this.random.pick(members);
  }

  /** Unique among everything that is ever written. */
  unique(): string {
    return `${this.name}.${++this.#count}`;
  }

  think(): Promise<void> {
    return pass(this.random.between(4, 30));
  }

  /** Asks and records; throws when the outcome is unknown, gives undefined when it was refused. */
  async ask(
    request: Request,
    answer: () => Promise<Told>,
    client = this.name,
  ): Promise<Told | undefined> {
    const call = monotonicNs();
    const record = (outcome: Operation['outcome'], told: Told): void => {
      const end = monotonicNs();
      const base = { client, door: this.door, ...request, call, return: end, outcome };
      this.stage.recorder.record({ ...base, ...told } as Operation);
    };
    try {
      const told = await within(answer());
      record('ok', told);
      return told;
    } catch (error) {
      const refused = error instanceof Refused;
      record(refused ? 'fail' : 'unknown', {});
      if (refused) return undefined;
      throw error;
    }
  }

  now(): number {
    return monotonicNs();
  }

  /** Notes what was seen, or what took more than one request. */
  note(request: Request, told: Told, call = monotonicNs(), client = this.name): void {
    const base = { client, door: this.door, ...request };
    const when = { call, return: monotonicNs(), outcome: 'ok' };
    this.stage.recorder.record({ ...base, ...told, ...when } as Operation);
  }
}
