import { LIMITS } from '@lockstep/model';
import { beforeEach, describe, expect, it } from 'vitest';
import { BackPressure } from '../src/back-pressure.ts';

describe('the back-pressure of a stream', () => {
  const limit = LIMITS.connectionBytesUnsentMax;
  let flowing: boolean;
  let pressure: BackPressure;

  beforeEach(() => {
    flowing = true;
    const set = (value: boolean) => () => {
      flowing = value;
    };
    pressure = new BackPressure({ pause: set(false), resume: set(true) });
  });

  it('stops the requests when responses pile up, and goes on at half of it', () => {
    const sent = Array.from({ length: 11 }, () => pressure.queued(limit / 10));
    expect(flowing).toBe(false);
    for (const done of sent.slice(0, 5)) done();
    expect(flowing).toBe(false);
    sent[5]!();
    sent[6]!();
    expect(flowing).toBe(true);
  });

  it('counts the smallest responses too', () => {
    for (let at = 0; at < 10_000; at++) pressure.queued(0);
    expect(flowing).toBe(false);
  });

  it('does not start what the handler stopped, nor let the handler start what is congested', () => {
    pressure.hold(true);
    const done = pressure.queued(2 * limit);
    pressure.hold(false);
    expect(flowing).toBe(false);
    pressure.hold(true);
    done();
    expect(flowing).toBe(false);
    pressure.hold(false);
    expect(flowing).toBe(true);
  });
});
