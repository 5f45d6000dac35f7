import { BinaryWriter, writeCommandHead } from '@lockstep/model';
import { encodeFrame, type PeerMessage } from '@lockstep/transport';
import { describe, expect, it } from 'vitest';
import { World } from './test-world.ts';

/** Of all members, which must agree: revision, and what the doors saw. */
function story(world: World): string {
  const stories = world.members.map(({ replica, journal }) => {
    return `${replica.state.revision} ${replica.state.stateHash()} ${journal.join()}`;
  });
  expect(new Set(stories).size, stories.join('; ')).toBe(1);
  return stories[0]!.replace(/ [0-9a-f]{16} /, ' ');
}

/** A cluster at rest: nothing of its own accord changes state for a while. */
function settled() {
  const world = new World();
  const leader = world.elect();
  leader.write('w');
  world.time.until('it is everywhere', () => world.members.every((member) => member.has('w')));
  return { world, leader, liar: world.followers()[0]! };
}

describe('what a faulty member says', () => {
  it('never reaches the log when it names a procedure nobody here knows', () => {
    const { world, leader, liar } = settled();
    const { lastIndex } = leader.replica.status();
    const command = writeCommandHead(new BinaryWriter(16), 0xfff0, 1).take();
    const { incarnation } = liar.replica;
    const run = { origin: liar.id, incarnation, first: 2, commands: [command] };
    const downs = liar.marks.filter((name) => name === 'leader link lost').length;
    liar.network!.send(leader.id, encodeFrame([{ kind: 'forward', run }]));
    world.time.until('the link is ended', () => {
      return liar.marks.filter((name) => name === 'leader link lost').length > downs;
    });
    expect(leader.replica.status().lastIndex).toBe(lastIndex);
    liar.write('after');
    world.time.until('it goes on', () => world.members.every((member) => member.has('after')));
  });

  it('changes nothing when runs, renewals, samples and gossip are of somebody else or no sense', () => {
    const { world, leader, liar } = settled();
    const before = story(world);
    const { incarnation } = liar.replica;
    const command = writeCommandHead(new BinaryWriter(16), 1, 1).take();
    const other = world.followers()[1]!.id;
    const run = { origin: liar.id, incarnation, first: 1, commands: [command] };
    const lies: PeerMessage[] = [
      // Numbers applied long ago, of a life that is over, and another member's.
      { kind: 'forward', run },
      { kind: 'forward', run: { ...run, incarnation: incarnation - 1 } },
      { kind: 'forward', run: { ...run, origin: other } },
      { kind: 'renew', group: { origin: other, incarnation: 1, ticket: 1, leases: [1, 2, 3] } },
      { kind: 'renew', group: { origin: liar.id, incarnation, ticket: 9, leases: [2 ** 40] } },
      { kind: 'clock', wallMs: 9e15, stampMs: -1, echoMs: 9e15, quorum: true },
      { kind: 'gossip', door: ':leader', payload: Uint8Array.of(255, 255) },
      { kind: 'gossip', door: 'nobody', payload: Uint8Array.of(1) },
      { kind: 'state-hash', index: 1, hash: 'not one' },
      { kind: 'times', clusterMs: 9e15, wallMs: 9e15 },
      { kind: 'snapshot-ack', stream: 9, number: 9 },
      { kind: 'snapshot-end', stream: 9, chunks: 1, crc: 1 },
      { kind: 'heartbeat', from: other, to: leader.id, term: 999, commit: 9, readRound: 9 },
    ];
    for (const lie of lies) liar.network!.send(leader.id, encodeFrame([lie]));
    world.time.advance(300);
    expect(leader.replica.status().role).toBe('leader');
    expect(story(world)).toBe(before);
    for (const member of world.members) expect(member.fatal).toBe(undefined);
    liar.write('after');
    world.time.until('it goes on', () => world.members.every((member) => member.has('after')));
  });

  it('ends links and nothing else when frames are cut or garbled', () => {
    const { world, leader, liar } = settled();
    const { random } = world;
    const before = story(world);
    for (let round = 0; round < 200; round++) {
      const bytes = new Uint8Array(1 + (random.u32() % 60));
      for (let i = 0; i < bytes.length; i++) bytes[i] = random.u32();
      // A format that exists, and a tag that does not; the rest is chance.
      bytes[0] = 1;
      bytes[1] = 128 + (random.u32() % 100);
      liar.network!.send(leader.id, bytes);
      world.time.advance(5);
    }
    world.time.advance(1000);
    for (const member of world.members) expect(member.fatal).toBe(undefined);
    expect(story(world)).toBe(before);
    world.elect().write('after');
    world.time.until('it goes on', () => world.members.every((member) => member.has('after')));
  });
});
