import type { Raft, ReadContext } from '@lockstep/raft';
import { describe, expect, it } from 'vitest';
import { Reader } from '../src/reader.ts';

describe('barriers', () => {
  it('may be more than a call takes arguments when their leader is lost', () => {
    const reader = new Reader(1, 1);
    const asked: ReadContext[] = [];
    const raft = { readIndex: (context: ReadContext) => asked.push(context) } as unknown as Raft;
    const count = 190_000;
    let failed = 0;
    const waiter = { reached: () => undefined, failed: () => void failed++ };
    for (let i = 0; i < count; i++) reader.add(waiter, 1000);
    reader.ask(raft);
    reader.drop(asked[0]!);
    expect(reader.count).toBe(count);
    reader.retry();
    reader.ask(raft);
    expect(asked).toHaveLength(2);
    reader.abandon();
    expect([failed, reader.count]).toEqual([count, 0]);
  });
});
