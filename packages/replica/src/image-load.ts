import {
  BinaryFormatError,
  equalBytes,
  type FileError,
  type ImageStore,
  InvariantError,
  UnknownFormatError,
} from '@lockstep/model';
import type { StateMachine } from '@lockstep/state-machine';
import { IMAGE_DAMAGED } from '@lockstep/storage';
import { decodePosition, type ImagePosition, POSITION_KEY } from './image-writer.ts';

const PAGE_BYTES = 1024 * 1024;

export type LoadOutcome =
  | { readonly kind: 'loaded'; readonly position: ImagePosition }
  /** Nothing was ever written to it. */
  | { readonly kind: 'empty' }
  /** Its records do not fit its hash, or cannot be read as records. */
  | { readonly kind: 'damaged'; readonly reason: string }
  /** The store cannot be read, or newer software wrote it (EFORMAT): the member must not start. */
  | { readonly kind: 'failed'; readonly error: FileError };

/**
 * Rebuilds a fresh state machine from an image and verifies the state hash (design §11). After
 * `damaged` the machine is of no use.
 */
export function loadImage(
  store: ImageStore,
  machine: StateMachine,
  done: (outcome: LoadOutcome) => void,
): void {
  const snapshot = store.snapshot();
  let position: ImagePosition | undefined;
  const finish = (outcome: LoadOutcome) => {
    snapshot.close();
    done(outcome);
  };
  const page = () => {
    snapshot.next(PAGE_BYTES, (error, records) => {
      if (error !== undefined) {
        const isDamaged = error.code === IMAGE_DAMAGED;
        const reason = error.message;
        finish(isDamaged ? { kind: 'damaged', reason } : { kind: 'failed', error });
        return;
      }
      let outcome: LoadOutcome | undefined;
      try {
        for (const { key, value } of records) {
          if (equalBytes(key, POSITION_KEY)) position = decodePosition(value);
          else machine.load(key, value);
        }
        if (records.length === 0) outcome = verify(machine, position);
      } catch (thrown) {
        outcome = judge(thrown);
      }
      if (outcome === undefined) page();
      else finish(outcome);
    });
  };
  page();
}

function verify(machine: StateMachine, position: ImagePosition | undefined): LoadOutcome {
  if (position === undefined) return { kind: 'empty' };
  machine.loaded();
  if (machine.appliedIndex !== position.index) {
    const reason = `records are at ${machine.appliedIndex}, position at ${position.index}`;
    return { kind: 'damaged', reason };
  }
  return { kind: 'loaded', position };
}

/** What damaged or newer records make the decoders throw; anything else is a mistake of ours. */
function judge(thrown: unknown): LoadOutcome {
  if (thrown instanceof UnknownFormatError) {
    const message = `${thrown.message}: newer software wrote this image`;
    return { kind: 'failed', error: { code: 'EFORMAT', message } };
  }
  if (thrown instanceof InvariantError || thrown instanceof BinaryFormatError) {
    return { kind: 'damaged', reason: thrown.message };
  }
  throw thrown;
}
