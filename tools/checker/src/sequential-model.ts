import type { Operation, Value } from './operation.ts';

/**
 * What a register or counter does when nothing happens at the same time. `undefined`: the answer
 * is not one that this state can give. An operation of unknown outcome has no answer to match.
 */
export function step(state: Value, operation: Operation): { state: Value } | undefined {
  const told = operation.outcome === 'ok';
  switch (operation.op) {
    case 'read':
      return (operation.result ?? null) === state ? { state } : undefined;
    case 'write':
      return { state: operation.value };
    case 'cas':
      if (state === operation.expected) {
        return told && !operation.result ? undefined : { state: operation.value };
      }
      if (told && operation.result) return undefined;
      return operation.actual === undefined || operation.actual === state ? { state } : undefined;
    case 'delete':
      return told && operation.result !== (state !== null) ? undefined : { state: null };
    case 'add': {
      const sum = (typeof state === 'number' ? state : 0) + operation.value;
      return told && operation.result !== sum ? undefined : { state: sum };
    }
    default:
      return undefined;
  }
}

/** Whether the linearizability of this operation is judged: it names one register or counter. */
export function isSequential(operation: Operation): boolean {
  switch (operation.op) {
    case 'read':
      return !operation.weak;
    case 'write':
    case 'cas':
    case 'delete':
    case 'add':
      return true;
    default:
      return false;
  }
}
