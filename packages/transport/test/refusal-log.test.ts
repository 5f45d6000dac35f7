import { describe, expect, it } from 'vitest';
import { RefusalLog } from '../src/refusal-log.ts';

describe('the log of refused connections', () => {
  it('says a reason once a minute, and how often it came', () => {
    const lines: string[] = [];
    let nowMs = 0;
    const log = new RefusalLog(
      (text) => lines.push(text),
      () => nowMs,
    );
    for (let i = 0; i < 5; i++) log.add('another cluster');
    log.add('another version');
    expect(lines).toEqual(['another cluster', 'another version']);
    nowMs = 60_000;
    log.add('another cluster');
    expect(lines.at(-1)).toBe('another cluster (and 4 times since the last line)');
  });

  it('is not filled by ever new reasons', () => {
    const lines: string[] = [];
    let nowMs = 0;
    const log = new RefusalLog(
      (text) => lines.push(text),
      () => nowMs,
    );
    for (let i = 0; i < 10_000; i++) log.add(`reason ${i}`);
    expect(lines.length).toBe(20);
    nowMs = 10_000;
    log.add('one more');
    expect(lines.slice(20)).toEqual(['9980 more connections were refused', 'one more']);
  });
});
