import { FEATURE_LEVEL, type StateMachine } from '@lockstep/state-machine';

/**
 * The level to which a leader may raise the cluster: what every member on record has said to know,
 * learners too; one that has not said hello yet knows nothing. Undefined when that is no more than
 * what the cluster is at.
 */
export function dueFeatureLevel(
  machine: Pick<StateMachine, 'members' | 'featureLevel'>,
): number | undefined {
  const records = machine.members();
  if (records.length === 0) return undefined;
  const level = Math.min(FEATURE_LEVEL, ...records.map((record) => record.featureLevel));
  return level > machine.featureLevel ? level : undefined;
}
