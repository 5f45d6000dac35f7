import type { IncomingMessage } from 'node:http';
import { LockstepError } from '@lockstep/model';
import type { Replica } from '@lockstep/replica';
import {
  acceptedValues,
  acceptsOption,
  type ClusterOption,
  type CommandOutcome,
  encodeSetOption,
  type OptionSetting,
  type SetOptionOutcome,
} from '@lockstep/state-machine';
import { type Answer, readJsonBody } from './json-body.ts';

/** One cluster option as `/options` shows it: its definition, and what it is set to. */
export interface OptionRow extends ClusterOption {
  readonly value: number | string | boolean;
  /** Range in words. */
  readonly accepted: string;
}

/** What `GET /options` answers. */
export interface OptionTable {
  readonly options: readonly OptionRow[];
}

const rowOf = ({ option, value }: OptionSetting): OptionRow => ({
  ...option,
  value,
  accepted: acceptedValues(option),
});

const failed = (answer: Answer) => (error: LockstepError) =>
  answer(503, { error: error.message, hint: error.hint, outcome: error.outcome });

/** Every cluster option with its value, linearizable. */
export function showOptions(replica: Replica, answer: Answer): void {
  replica.barrier({
    reached: () => answer(200, { options: replica.state.options().map(rowOf) }),
    failed: failed(answer),
  });
}

/** Sets one cluster option through the log (design §10): body `{"name": …, "value": …}`. */
export function setOption(replica: Replica, request: IncomingMessage, answer: Answer): void {
  readJsonBody(request, answer, (body) => proposeOption(replica, body, answer));
}

function proposeOption(
  replica: Replica,
  { name, value }: Readonly<Record<string, unknown>>,
  answer: Answer,
): void {
  const setting = replica.state.options().find(({ option }) => option.name === name);
  if (setting === undefined) {
    answer(404, { error: `no cluster option ${JSON.stringify(name)}; GET /options lists them` });
    return;
  }
  const { option } = setting;
  const isScalar = typeof value === 'number' || typeof value === 'string' || value === !!value;
  if (!isScalar || !acceptsOption(option, value)) {
    const given = JSON.stringify(value);
    answer(400, { error: `${option.name}: ${given} is not accepted; ${acceptedValues(option)}` });
    return;
  }
  const { featureLevel } = replica.state;
  if ((option.since ?? 0) > featureLevel) {
    failed(answer)(new LockstepError('FEATURE_LEVEL', option.since ?? 0, featureLevel));
    return;
  }
  replica.submit(encodeSetOption(option.name, value), {
    applied: (outcome) => answerApplied(outcome, { ...rowOf(setting), value }, answer),
    failed: failed(answer),
  });
}

/** An older member that applies may know other options or ranges than this one. */
function answerApplied(outcome: CommandOutcome, row: OptionRow, answer: Answer): void {
  if (outcome.kind === 'void') {
    answer(503, { error: `not applied: ${outcome.reason}`, outcome: 'failed' });
    return;
  }
  const result = outcome.result as SetOptionOutcome;
  if (result === 'set') answer(200, row);
  else answer(400, { error: `${row.name}: ${result}` });
}
