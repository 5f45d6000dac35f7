import type { LockstepError } from '@lockstep/model';
import { describe, expect, it } from 'vitest';
import { journalCommand } from './journal-extension.ts';
import { type TestMember, World } from './test-world.ts';

describe('a void incarnation', () => {
  /** As a door does that tries again at once when its command has failed. */
  const writeAtOnceAgain = (member: TestMember, text: string): string[] => {
    const failures: string[] = [];
    const again = (): void => {
      member.replica.submit(journalCommand(text), {
        applied: () => {},
        failed: (error: LockstepError) => {
          failures.push(error.code);
          if (failures.length < 100) again();
        },
      });
    };
    again();
    return failures;
  };

  it('is followed by one that opens with its hello, whatever its doors do meanwhile', () => {
    const world = new World();
    world.elect();
    world.time.advance(500);
    const [member] = world.followers();
    const former = member!.replica.incarnation;
    world.isolate(member!);
    const failures = writeAtOnceAgain(member!, 'again');
    world.time.advance(4000);
    world.rejoin(member!);
    world.time.until('it takes a new one', () => member!.replica.incarnation > former);
    world.time.until('it can write', () => world.leader?.has('again') === true);
    expect(failures.length).toBeGreaterThan(0);
  });
});
