import { BinaryWriter, type Clock, writeCommandHead } from '@lockstep/model';
import type { Replica } from '@lockstep/replica';
import {
  encodeAdvanceRevision,
  encodeSetOption,
  type HistoryReference,
} from '@lockstep/state-machine';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { PutRequest } from '../src/gen/rpc.ts';
import { AutoCompaction, ETCD, ProcedureId, writeCompact, writePut } from '../src/index.ts';
import { b, DoorFixture } from './door-fixture.ts';

/** A clock whose one timer runs when the test says so. */
function stepClock() {
  const timers: { delayMs: number; callback: () => void }[] = [];
  const clock: Clock = {
    monotonicMs: () => 0,
    wallMs: () => 0,
    setTimer(delayMs, callback) {
      const timer = { delayMs, callback };
      timers.push(timer);
      return { cancel: () => void timers.splice(timers.indexOf(timer), 1) };
    },
  };
  return { clock, timers, pass: () => timers.shift()?.callback() };
}

function putCommand(value: string): Uint8Array {
  const writer = writeCommandHead(new BinaryWriter(), ProcedureId.Put, 1);
  writePut(writer, { ...PutRequest.decode(new Uint8Array(0)), key: b('k'), value: b(value) });
  return writer.take();
}

describe('auto-compaction', () => {
  let door: DoorFixture;
  beforeEach(async () => {
    door = await DoorFixture.open();
  });
  afterEach(() => door.close());

  const submit = (command: Uint8Array) =>
    new Promise<void>((resolve, reject) =>
      door.replica.submit(command, { applied: () => resolve(), failed: reject }),
    );
  const settled = () => submit(encodeSetOption('lock-barging', 'no'));
  const compacted = () => door.replica.state.compactedRevision(ETCD);

  /** Puts with another door's revisions in between; returns the revisions of the puts. */
  async function putAll(count: number): Promise<number[]> {
    const revisions: number[] = [];
    for (let i = 0; i < count; i++) {
      await submit(encodeAdvanceRevision(door.replica.state.revision + 10));
      await submit(putCommand(`${i}`));
      revisions.push(door.replica.state.revision);
    }
    return revisions;
  }

  it('keeps the last revisions that changed an etcd key, whatever other doors wrote', async () => {
    const { clock, timers, pass } = stepClock();
    const compaction = new AutoCompaction({ replica: door.replica, clock });
    await submit(encodeSetOption('etcd-auto-compaction-revisions', 100));
    const revisions = await putAll(100);
    pass();
    await settled();
    expect(compacted()).toBe(0);
    revisions.push(...(await putAll(1)));
    pass();
    await settled();
    expect(compacted()).toBe(revisions[1]);
    revisions.push(...(await putAll(30)));
    pass();
    await settled();
    expect(compacted()).toBe(revisions[31]);
    expect(timers.map(({ delayMs }) => delayMs)).toEqual([5000]);
    compaction.close(() => undefined);
    expect(timers).toEqual([]);
  });

  it('takes nothing away from a read of history that has begun', async () => {
    const { replica } = door;
    const [first = 0, last = 0] = await putAll(2);
    const references: HistoryReference[] = [];
    replica.state.rangeAt(ETCD, 'k', undefined, first, (reference) => {
      references.push(reference);
      return true;
    });
    const writer = writeCommandHead(new BinaryWriter(), ProcedureId.Compact, 1);
    writeCompact(writer, last);
    const removed = submit(writer.take());
    const found = await new Promise((resolve) =>
      replica.readHistory(references, (error, records) =>
        resolve(error?.code ?? records.map(({ modRevision }) => modRevision)),
      ),
    );
    await removed;
    expect(compacted()).toBe(last);
    expect(found).toEqual([first]);
  });

  it('is off at 0, and left to the leader', async () => {
    const { clock, pass } = stepClock();
    await submit(encodeSetOption('etcd-auto-compaction-revisions', 0));
    await putAll(3);
    new AutoCompaction({ replica: door.replica, clock });
    pass();
    await settled();
    expect(compacted()).toBe(0);
    await submit(encodeSetOption('etcd-auto-compaction-revisions', 1));
    const follower: Replica = Object.create(door.replica, {
      status: { value: () => ({ ...door.replica.status(), role: 'follower' }) },
      state: { value: door.replica.state },
      serving: { value: true },
      submit: { value: () => expect.unreachable('a follower proposed') },
    });
    const other = stepClock();
    new AutoCompaction({ replica: follower, clock: other.clock });
    other.pass();
    pass();
    await settled();
    expect(compacted()).toBeGreaterThan(0);
  });
});
