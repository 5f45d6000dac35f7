import { LeaseKind } from '@lockstep/model';
import { createStateMachine, encodeSetOption } from '@lockstep/state-machine';
import { describe, expect, it } from 'vitest';
import { createLocalReplica, LocalImage } from '../src/index.ts';
import { journalCommand, journalExtension } from './journal-extension.ts';
import { VirtualTime } from './virtual-time.ts';

function openLocal(manual = false) {
  const world = new VirtualTime();
  const image = new LocalImage();
  const machine = createStateMachine({
    extensions: [journalExtension],
    image,
    bootstrap: {
      clusterId: 1n,
      members: [{ id: 1, name: 'one', etcdId: 1n, peerAddress: '' }],
      options: {},
      electionTimeoutMs: 1000,
    },
  });
  const ports = { clock: world, scheduler: world };
  const replica = createLocalReplica({ stateMachine: machine, image, ...ports, manual });
  const journal: string[] = [];
  replica.subscribe({
    transaction: ({ events }) => {
      for (const event of events) if (event.kind === 'door') journal.push(String(event.payload));
    },
    skipped: () => {},
  });
  return { world, machine, replica, journal };
}

describe('a local replica', () => {
  it('applies the commands of one turn in one entry, in order, and answers each once', () => {
    const { world, machine, replica, journal } = openLocal();
    const answers: string[] = [];
    const waiter = (name: string) => ({
      applied: () => answers.push(name),
      failed: () => answers.push(`${name} failed`),
    });
    expect(replica.submit(journalCommand('a'), waiter('a'))).toBe(2);
    expect(replica.submit(journalCommand('b'), waiter('b'))).toBe(3);
    expect(answers).toEqual([]);
    world.settle();
    expect(journal).toEqual(['a', 'b']);
    expect(machine.appliedIndex).toBe(2);
    expect(answers).toEqual(['a', 'b']);
  });

  it('lets a barrier through after the commands submitted before it', () => {
    const { world, replica } = openLocal();
    const order: string[] = [];
    replica.submit(journalCommand('w'), { applied: () => order.push('w'), failed: () => {} });
    replica.barrier({ reached: () => order.push('barrier'), failed: () => {} });
    world.settle();
    expect(order).toEqual(['w', 'barrier']);
  });

  it('tells of renewals whether the lease was alive', () => {
    const { world, machine, replica } = openLocal();
    const own = machine.leaseById(LeaseKind.Member, 1n)!;
    const alive: boolean[] = [];
    for (const lease of [own.handle, own.handle + 1]) {
      replica.renew(lease, { renewed: (yes) => alive.push(yes), failed: () => {} });
    }
    world.settle();
    expect(alive).toEqual([true, false]);
  });

  it('holds commands without contact and voids those whose client was told unknown', () => {
    const { world, replica, journal } = openLocal();
    replica.setContact(false);
    const codes: string[] = [];
    replica.submit(journalCommand('lost'), {
      applied: () => codes.push('applied'),
      failed: (error) => codes.push(error.code),
    });
    world.settle();
    replica.failPending('UNKNOWN_OUTCOME');
    replica.setContact(true);
    replica.submit(journalCommand('next'));
    world.settle();
    expect(codes).toEqual(['UNKNOWN_OUTCOME']);
    expect(journal).toEqual(['next']);
  });

  it('applies nothing before step when driven by hand', () => {
    const { world, replica, journal } = openLocal(true);
    replica.submit(journalCommand('a'));
    world.settle();
    expect(journal).toEqual([]);
    replica.step();
    expect(journal).toEqual(['a']);
  });

  it('keeps its incarnation alive however long it idles', () => {
    const { world, machine, replica } = openLocal();
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
