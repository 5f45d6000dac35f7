import type { Replica } from '@lockstep/replica';
import { describe, expect, it } from 'vitest';
import { Metrics } from '../src/metrics.ts';

describe('metrics', () => {
  it('are rendered once for all who ask at the same time, and anew afterwards', async () => {
    let reads = 0;
    const status = () => {
      reads++;
      return {
        role: 'leader',
        term: 1,
        appliedIndex: reads,
        commitIndex: 1,
        logBytes: 0,
        pendingCommands: 0,
        leader: 1,
      };
    };
    const replica = { status, state: { revision: 1, liveBytes: 0 } } as unknown as Replica;
    const metrics = new Metrics(replica);
    const first = metrics.text();
    expect(metrics.text()).toBe(first);
    await first;
    const before = reads;
    expect(await metrics.text()).not.toBe(await first);
    expect(reads).toBeGreaterThan(before);
  });
});
