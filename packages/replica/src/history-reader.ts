import {
  type ByteString,
  type FileError,
  fromByteString,
  type InvariantError,
  LockstepError,
} from '@lockstep/model';
import type { HistoryReference, LiveRecord, StateMachine } from '@lockstep/state-machine';
import type { ImageWriter } from './image-writer.ts';

export type HistoryDone = (
  error: LockstepError | undefined,
  records: readonly LiveRecord[],
) => void;

/**
 * Values of history versions (design §12): from batches not yet written first, then the image.
 * References must be those of the present state: their values then are in one of the two, and
 * compaction, which goes on while the image is read, takes nothing away from a read that has begun
 * (`ImageStore.getMany`). A reference kept over a compaction fails with COMPACTED.
 */
export class HistoryReader {
  readonly #writer: () => ImageWriter;
  readonly #machine: () => StateMachine;
  readonly #failed: (error: FileError | InvariantError) => void;
  readonly #post: (callback: () => void) => void;

  constructor(options: {
    readonly writer: () => ImageWriter;
    readonly machine: () => StateMachine;
    readonly post: (callback: () => void) => void;
    /** The image cannot be read, or holds a damaged value: the member stops. */
    readonly failed: (error: FileError | InvariantError) => void;
  }) {
    this.#writer = options.writer;
    this.#machine = options.machine;
    this.#post = options.post;
    this.#failed = options.failed;
  }

  read(references: readonly HistoryReference[], done: HistoryDone): void {
    const writer = this.#writer();
    const machine = this.#machine();
    const values: (Uint8Array | undefined)[] = [];
    const missing: number[] = [];
    const keys: ByteString[] = [];
    references.forEach((reference, i) => {
      const key = machine.historyKey(reference);
      const value = writer.unflushed(key);
      if (value === null) {
        missing.push(i);
        keys.push(key);
      } else values[i] = value;
    });
    const finish = () => this.#decode(references, values, done);
    if (keys.length === 0) {
      this.#post(finish);
      return;
    }
    writer.store.getMany(keys.map(fromByteString), (error, found) => {
      if (error !== undefined) {
        this.#failed(error);
        return;
      }
      missing.forEach((position, i) => {
        values[position] = found[i];
      });
      finish();
    });
  }

  #decode(
    references: readonly HistoryReference[],
    values: readonly (Uint8Array | undefined)[],
    done: HistoryDone,
  ): void {
    const machine = this.#machine();
    const records: LiveRecord[] = [];
    try {
      for (let i = 0; i < references.length; i++) {
        const [reference, value] = [references[i]!, values[i]];
        if (value === undefined) {
          const oldest = machine.compactedRevision(reference.keyspace);
          done(new LockstepError('COMPACTED', reference.revision, oldest), []);
          return;
        }
        records.push(machine.decodeHistory(reference, value));
      }
    } catch (error) {
      this.#failed(error as InvariantError);
      return;
    }
    done(undefined, records);
  }
}
