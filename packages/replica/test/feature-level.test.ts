import { BinaryWriter, ProcedureFamily, writeCommandHead } from '@lockstep/model';
import { FEATURE_LEVEL, type Procedure } from '@lockstep/state-machine';
import { describe, expect, it } from 'vitest';
import { dueFeatureLevel } from '../src/feature-level.ts';
import { levelRefusal } from '../src/index.ts';
import { World } from './test-world.ts';

describe('the feature level', () => {
  it('is raised by the leader once every member has said hello, and by nobody before', () => {
    const world = new World();
    world.time.until('all are there', () =>
      world.members.every(({ replica }) => replica.state.featureLevel === FEATURE_LEVEL),
    );
    expect(world.leader!.marks.filter((mark) => mark === 'feature level raised').length).toBe(1);
  });

  it('waits for a member that is older, also for one that has never said hello', () => {
    const due = (...levels: number[]) =>
      dueFeatureLevel({
        featureLevel: 1,
        members: () => levels.map((featureLevel) => ({ featureLevel })) as never,
      });
    expect(due(2, 1, 2)).toBe(undefined);
    expect(due(2, 0, 2)).toBe(undefined);
    expect(due()).toBe(undefined);
    expect(due(2, 2, 2)).toBe(2);
    expect(due(99, 99)).toBe(FEATURE_LEVEL);
  });

  it('decides who is refused at the handshake, in words that say what to do', () => {
    const refusal = (cluster: number, oldest: number, newest: number) =>
      levelRefusal(cluster, { member: 3, levels: { oldest, newest } });
    expect(refusal(1, 1, 1)).toBe(undefined);
    expect(refusal(1, 1, 2)).toBe(undefined);
    expect(refusal(2, 1, 1)).toBe(
      'member 3 knows feature level 1, the cluster is at 2: upgrade it',
    );
    expect(refusal(1, 2, 3)).toBe(
      'member 3 needs feature level 2, the cluster is at 1: upgrade the others first',
    );
  });

  it('keeps what is newer out of the log, with an error that names both levels', () => {
    const newer: Procedure<undefined, string> = {
      id: ProcedureFamily.Redis + 202,
      version: 1,
      name: 'test.newer',
      readOnly: false,
      since: FEATURE_LEVEL + 1,
      decode: () => undefined,
      run: () => 'ran',
    };
    const extensions = [{ name: 'newer', keyspaces: [], procedures: [newer] }];
    const world = new World({ extensions });
    const leader = world.elect();
    const refused: string[] = [];
    const command = writeCommandHead(new BinaryWriter(16), newer.id, newer.version).take();
    leader.replica.submit(command, {
      applied: () => refused.push('applied'),
      failed: (error) => refused.push(error.message),
    });
    world.time.advance(10);
    expect(refused).toEqual([
      expect.stringMatching(`this needs feature level ${FEATURE_LEVEL + 1}, the cluster is at`),
    ]);
  });
});
