import { utf8Bytes } from '@lockstep/model';
import { createStateMachine, encodeSetOption } from '@lockstep/state-machine';
import { describe, expect, it } from 'vitest';
import { createLocalReplica, LocalImage } from '../src/index.ts';
import { JournalMachine } from './journal-machine.ts';
import { VirtualTime } from './virtual-time.ts';

function openLocal(manual = false) {
  const world = new VirtualTime();
  const machine = new JournalMachine(new LocalImage());
  const replica = createLocalReplica({
    stateMachine: machine.asStateMachine(),
    clock: world,
    scheduler: world,
    hello: utf8Bytes('hello'),
    manual,
  });
  return { world, machine, replica };
}

describe('a local replica', () => {
  it('applies the commands of one turn in one entry, in order, and answers each once', () => {
    const { world, machine, replica } = openLocal();
    const answers: string[] = [];
    const waiter = (name: string) => ({
      applied: () => answers.push(name),
      failed: () => answers.push(`${name} failed`),
    });
    expect(replica.submit(utf8Bytes('a'), waiter('a'))).toBe(2);
    expect(replica.submit(utf8Bytes('b'), waiter('b'))).toBe(3);
    expect(answers).toEqual([]);
    world.settle();
    expect(machine.applied).toEqual(['1:hello', '1:a', '1:b']);
    expect(machine.appliedIndex).toBe(2);
    expect(answers).toEqual(['a', 'b']);
  });

  it('lets a barrier through after the commands submitted before it', () => {
    const { world, replica } = openLocal();
    const order: string[] = [];
    replica.submit(utf8Bytes('w'), { applied: () => order.push('w'), failed: () => {} });
    replica.barrier({ reached: () => order.push('barrier'), failed: () => {} });
    world.settle();
    expect(order).toEqual(['w', 'barrier']);
  });

  it('tells of renewals whether the lease was alive', () => {
    const { world, replica } = openLocal();
    const alive: boolean[] = [];
    for (const lease of [1, 2]) {
      replica.renew(lease, { renewed: (yes) => alive.push(yes), failed: () => {} });
    }
    world.settle();
    expect(alive).toEqual([true, false]);
  });

  it('holds commands without contact and voids those whose client was told unknown', () => {
    const { world, machine, replica } = openLocal();
    replica.setContact(false);
    const codes: string[] = [];
    replica.submit(utf8Bytes('lost'), {
      applied: () => codes.push('applied'),
      failed: (error) => codes.push(error.code),
    });
    world.settle();
    replica.failPending('UNKNOWN_OUTCOME');
    replica.setContact(true);
    replica.submit(utf8Bytes('next'));
    world.settle();
    expect(codes).toEqual(['UNKNOWN_OUTCOME']);
    expect(machine.applied).toEqual(['1:hello', '1:next']);
  });

  it('applies nothing before step when driven by hand', () => {
    const { world, machine, replica } = openLocal(true);
    replica.submit(utf8Bytes('a'));
    world.settle();
    expect(machine.applied).toEqual(['1:hello']);
    replica.step();
    expect(machine.applied).toEqual(['1:hello', '1:a']);
  });

  it('keeps its incarnation alive on the real state machine however long it idles', () => {
    const world = new VirtualTime();
    const image = new LocalImage();
    const machine = createStateMachine({
      extensions: [],
      image,
      bootstrap: {
        clusterId: 1n,
        members: [{ id: 1, name: 'one', etcdId: 1n, peerAddress: '' }],
        options: {},
        electionTimeoutMs: 1000,
      },
    });
    const replica = createLocalReplica({
      stateMachine: machine,
      image,
      clock: world,
      scheduler: world,
    });
    world.advance(60_000);
    const outcomes: unknown[] = [];
    replica.submit(encodeSetOption('lock-barging', 'yes'), {
      applied: (outcome) => outcomes.push(outcome),
      failed: (error) => outcomes.push(error),
    });
    world.settle();
    expect(outcomes).toMatchObject([{ kind: 'done' }]);
    expect(machine.members()[0]!.incarnation).toBe(1);
    replica.close();
  });
});
