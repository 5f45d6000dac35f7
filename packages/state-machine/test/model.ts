import type { Step } from './toy.ts';

interface Entry {
  value: string;
  token: number;
  deadline: number;
}

/**
 * What the store should do, in the plainest way: a map, a queue per lock, a clock. It knows
 * `put`, `delete`, `acquire`, `release` and `extend` in the lock keyspace, one step at a time.
 */
export class ReferenceModel {
  readonly records = new Map<string, Entry>();
  readonly queues = new Map<string, { owner: string; px: number; until: number }[]>();
  revision = 1;
  time: number;

  constructor(time: number) {
    this.time = time;
  }

  /** Everything that ends at or before the new time, soonest first, records before waiters. */
  advance(to: number): void {
    this.time = to;
    for (;;) {
      const due = [...this.records]
        .filter(([, { deadline }]) => deadline !== 0 && deadline <= to)
        .sort(([x, a], [y, b]) => a.deadline - b.deadline || (x < y ? -1 : 1))[0];
      const waiting = [...this.queues.values()]
        .flat()
        .filter(({ until }) => until !== 0 && until <= to)
        .sort((x, y) => x.until - y.until)[0];
      if (due === undefined && waiting === undefined) return;
      // Table numbers order equal deadlines: waiters (7) stand before the lock keyspace (17).
      if (due === undefined || (waiting !== undefined && waiting.until <= due[1].deadline)) {
        for (const queue of this.queues.values()) {
          const at = queue.indexOf(waiting!);
          if (at !== -1) queue.splice(at, 1);
        }
        continue;
      }
      this.revision++;
      this.remove(due[0]);
    }
  }

  run(step: Step): unknown {
    switch (step.do) {
      case 'put': {
        const token = this.write(step.key, step.value);
        const record = this.records.get(step.key)!;
        if (step.px !== undefined) record.deadline = this.time + step.px;
        return token;
      }
      case 'delete':
        if (!this.records.has(step.key)) return false;
        this.revision++;
        this.remove(step.key);
        return true;
      case 'acquire': {
        const present = this.records.get(step.name);
        if (present === undefined || present.value === step.owner) {
          const token = this.write(step.name, step.owner);
          this.records.get(step.name)!.deadline = this.time + step.px;
          return token;
        }
        if (step.wait === undefined) return 'held';
        const queue = this.queues.get(step.name) ?? [];
        this.queues.set(step.name, queue);
        const until = step.wait === 0 ? 0 : this.time + step.wait;
        queue.push({ owner: step.owner, px: step.px, until });
        return 'queued';
      }
      case 'release': {
        if (this.records.get(step.name)?.value !== step.owner) return 'not-held';
        this.revision++;
        this.remove(step.name);
        return 'released';
      }
      case 'extend': {
        const present = this.records.get(step.name);
        if (present?.value !== step.owner) return false;
        this.revision++;
        present.deadline = this.time + step.px;
        return true;
      }
      default:
        throw new Error(`the model does not know ${step.do}`);
    }
  }

  private write(key: string, value: string): number {
    this.revision++;
    const present = this.records.get(key);
    if (present?.value === value) return present.token;
    const deadline = present?.deadline ?? 0;
    this.records.set(key, { value, token: this.revision, deadline });
    return this.revision;
  }

  /** Deletes, and hands over to the head of the queue at the same revision. */
  private remove(key: string): void {
    this.records.delete(key);
    const next = this.queues.get(key)?.shift();
    if (next === undefined) return;
    const deadline = this.time + next.px;
    this.records.set(key, { value: next.owner, token: this.revision, deadline });
  }
}
