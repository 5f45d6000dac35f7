import type { IncomingMessage } from 'node:http';
import type { LockstepError } from '@lockstep/model';
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

type Answer = (status: number, body: object) => void;

const BODY_BYTES_MAX = 64 * 1024;

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

/**
 * Sets one cluster option through the log (design §10): body `{"name": …, "value": …}`. Only for
 * programs on this machine, and as JSON, which no web page of another origin may send unasked.
 */
export function setOption(replica: Replica, request: IncomingMessage, answer: Answer): void {
  if (!isLoopback(request.socket.remoteAddress ?? '')) {
    answer(403, { error: 'options are set from the machine of a member only' });
    return;
  }
  if (request.headers['content-type']?.split(';')[0]?.trim() !== 'application/json') {
    answer(415, { error: 'send content-type: application/json' });
    return;
  }
  const chunks: Buffer[] = [];
  let size = 0;
  request.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size <= BODY_BYTES_MAX) chunks.push(chunk);
  });
  request.on('end', () => {
    if (size > BODY_BYTES_MAX) answer(413, { error: `more than ${BODY_BYTES_MAX} bytes` });
    else proposeOption(replica, Buffer.concat(chunks).toString(), answer);
  });
}

function proposeOption(replica: Replica, text: string, answer: Answer): void {
  const { name, value } = parseObject(text);
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

function parseObject(text: string): { readonly name?: unknown; readonly value?: unknown } {
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === 'object' && parsed !== null ? parsed : {};
  } catch {
    return {};
  }
}

const isLoopback = (address: string): boolean =>
  address === '::1' || /^(::ffff:)?127\./.test(address);
