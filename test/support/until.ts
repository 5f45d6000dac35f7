/** Polls a condition of another process, which no event announces; fails with a reason. */
export async function until(
  condition: () => Promise<boolean> | boolean,
  withinMs: number,
  describe: () => string = () => 'condition',
): Promise<void> {
  const end = performance.now() + withinMs;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`not within ${withinMs} ms: ${describe()}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Lets time pass where the passing of time is what is tested (a lease, a pause). */
export const pass = (ms: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, ms));
