import type { IncomingMessage } from 'node:http';

export type Answer = (status: number, body: object) => void;

const BODY_BYTES_MAX = 64 * 1024;

const isLoopback = (address: string): boolean =>
  address === '::1' || /^(::ffff:)?127\./.test(address);

/**
 * Reads the JSON object of a request that changes something. Refused unless it comes from a program
 * on this machine, and as JSON, which no web page of another origin may send unasked. What is no
 * object counts as an empty one.
 */
export function readJsonBody(
  request: IncomingMessage,
  answer: Answer,
  take: (body: Readonly<Record<string, unknown>>) => void,
): void {
  if (!isLoopback(request.socket.remoteAddress ?? '')) {
    answer(403, { error: 'changes are made from the machine of a member only' });
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
    else take(parseObject(Buffer.concat(chunks).toString()));
  });
}

function parseObject(text: string): Readonly<Record<string, unknown>> {
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === 'object' && parsed !== null
      ? (parsed as Readonly<Record<string, unknown>>)
      : {};
  } catch {
    return {};
  }
}
