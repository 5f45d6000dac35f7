import type { MemberId } from '@lockstep/model';
import { PREFERRED_LEADERS_OPTION, type StateMachine } from '@lockstep/state-machine';

/**
 * How much a member is preferred as leader by the replicated option `preferred-leaders`: the first
 * name has the largest number, names that are not listed have 0. Whoever is asked, in elections and
 * when a leader hands over, answers from its own state, which is the same everywhere but for lag.
 */
export function priorityOf(machine: StateMachine, id: MemberId): number {
  const listed = machine.option(PREFERRED_LEADERS_OPTION);
  if (listed === '') return 0;
  const names = listed.split(',').map((name) => name.trim());
  const member = machine.members().find((record) => record.id === id);
  const place = member === undefined ? -1 : names.indexOf(member.name);
  return place < 0 ? 0 : names.length - place;
}
