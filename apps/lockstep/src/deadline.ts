/**
 * Asks with a signal that aborts after `ms` milliseconds with a TimeoutError. Unlike
 * `AbortSignal.timeout` it keeps the process alive until then: a fetch whose connection is reset as
 * it opens has nothing else that would, and the process would end in the middle of it, silently.
 */
export async function withDeadline<T>(
  ms: number,
  ask: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const late = new DOMException(`no answer in ${ms} ms`, 'TimeoutError');
  const timer = setTimeout(() => controller.abort(late), ms);
  try {
    return await ask(controller.signal);
  } finally {
    clearTimeout(timer);
  }
}
