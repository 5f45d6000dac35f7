import type { ClusterStatus, LockTable, MemberTable, OptionTable } from '@lockstep/admin';
import { withDeadline } from './deadline.ts';

/** Where the demo's members listen; the first that answers is asked. */
export const DEFAULT_ADMIN = ['127.0.0.1:7070', '127.0.0.1:27070', '127.0.0.1:37070'];
export const DEFAULT_REDIS = ['127.0.0.1:6379', '127.0.0.1:26379', '127.0.0.1:36379'];

/** Asks the members in turn for a JSON document. Throws one line that names all that were tried. */
export function askAny<T>(addresses: readonly string[], path: string): Promise<T> {
  return fetchAny<T>(addresses, path, {}, ANSWER_MS_MAX);
}

/** Sends a JSON document to the first member that answers and gives its answer. */
export function sendAny<T>(
  addresses: readonly string[],
  path: string,
  body: object,
  withinMs = ANSWER_MS_MAX,
): Promise<T> {
  const headers = { 'content-type': 'application/json' };
  const request = { method: 'POST', headers, body: JSON.stringify(body) };
  return fetchAny<T>(addresses, path, request, withinMs);
}

const ANSWER_MS_MAX = 3000;

async function fetchAny<T>(
  addresses: readonly string[],
  path: string,
  request: RequestInit,
  withinMs: number,
): Promise<T> {
  const failures: string[] = [];
  let refusal: string | undefined;
  for (const address of addresses) {
    try {
      const { ok, status, text } = await withDeadline(withinMs, async (signal) => {
        const response = await fetch(`http://${address}${path}`, { ...request, signal });
        return { ok: response.ok, status: response.status, text: await response.text() };
      });
      if (ok) return JSON.parse(text) as T;
      // Another member would decide no otherwise.
      if (status === 409) refusal = reasonOf(text.trim());
      else failures.push(`${address}: ${status} ${text.trim()}`);
    } catch (error) {
      const { cause, name, message } = error as Error & { cause?: { code?: string } };
      const late = name === 'TimeoutError' ? 'no answer in time; has it a leader?' : message;
      failures.push(`${address}: ${cause?.code ?? late}`);
    }
    if (refusal !== undefined) throw new Error(refusal);
  }
  throw new Error(`no member answered (${failures.join('; ')}); name one with --admin HOST:PORT`);
}

function reasonOf(text: string): string {
  const { error, hint } = JSON.parse(text) as { error: string; hint?: string };
  return hint === undefined ? error : `${error}; ${hint}`;
}

export const askStatus = (addresses: readonly string[]) =>
  askAny<ClusterStatus>(addresses, '/status');
export const askLocks = (addresses: readonly string[]) => askAny<LockTable>(addresses, '/locks');
export const askMembers = (addresses: readonly string[]) =>
  askAny<MemberTable>(addresses, '/members');
export const askOptions = (addresses: readonly string[]) =>
  askAny<OptionTable>(addresses, '/options');
