/**
 * Coverage marks (reference §4.5): a rare branch says that it was reached. A mark never changes
 * what the code does; without a listener it costs one call, so it belongs on rare branches only.
 * The simulator counts marks, reports those never reached, and times faults by them.
 */
let listener: ((name: string) => void) | undefined;

/** Says that a rare place was reached. `name` reads like `snapshot installed`: a literal string,
 * unique in the source, so that a report can list those never seen. */
export function mark(name: string): void {
  listener?.(name);
}

/** Who hears of marks from now on; `undefined` nobody. Returns who heard of them before. */
export function listenToMarks(
  next: ((name: string) => void) | undefined,
): ((name: string) => void) | undefined {
  const before = listener;
  listener = next;
  return before;
}
