import type { ClusterStatus, LockTable, OptionTable } from '@lockstep/admin';

/** Where the demo's members listen; the first that answers is asked. */
export const DEFAULT_ADMIN = ['127.0.0.1:7070', '127.0.0.1:27070', '127.0.0.1:37070'];
export const DEFAULT_REDIS = ['127.0.0.1:6379', '127.0.0.1:26379', '127.0.0.1:36379'];

/** Asks the members in turn for a JSON document. Throws one line that names all that were tried. */
export function askAny<T>(addresses: readonly string[], path: string): Promise<T> {
  return fetchAny<T>(addresses, path, {});
}

/** Sends a JSON document to the first member that answers and gives its answer. */
export function sendAny<T>(addresses: readonly string[], path: string, body: object): Promise<T> {
  const headers = { 'content-type': 'application/json' };
  return fetchAny<T>(addresses, path, { method: 'POST', headers, body: JSON.stringify(body) });
}

async function fetchAny<T>(
  addresses: readonly string[],
  path: string,
  request: RequestInit,
): Promise<T> {
  const failures: string[] = [];
  for (const address of addresses) {
    try {
      const response = await fetch(`http://${address}${path}`, {
        ...request,
        signal: AbortSignal.timeout(3000),
      });
      if (response.ok) return (await response.json()) as T;
      failures.push(`${address}: ${response.status} ${(await response.text()).trim()}`);
    } catch (error) {
      const { cause, name, message } = error as Error & { cause?: { code?: string } };
      const late = name === 'TimeoutError' ? 'no answer in time; has it a leader?' : message;
      failures.push(`${address}: ${cause?.code ?? late}`);
    }
  }
  throw new Error(`no member answered (${failures.join('; ')}); name one with --admin HOST:PORT`);
}

export const askStatus = (addresses: readonly string[]) =>
  askAny<ClusterStatus>(addresses, '/status');
export const askLocks = (addresses: readonly string[]) => askAny<LockTable>(addresses, '/locks');
export const askOptions = (addresses: readonly string[]) =>
  askAny<OptionTable>(addresses, '/options');
