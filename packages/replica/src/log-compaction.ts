import type { Index } from '@lockstep/model';
import type { Configuration, Raft } from '@lockstep/raft';
import type { LogStore } from '@lockstep/storage';
import type { ImagePosition } from './image-writer.ts';
import type { Settings } from './options.ts';

/**
 * Lets log entries go whose effect is durable in the image (design §11): when the log has grown
 * beyond its bounds, up to a tail kept for followers that lag a little, and never past what a
 * snapshot under way still needs.
 */
export class LogCompaction {
  readonly #log: LogStore;
  readonly #raft: Raft;
  readonly #settings: Settings;
  #durable: ImagePosition | undefined;
  #damagedTo: Index = 0;
  /** Configurations by the index from which they are in force, oldest first. */
  #configurations: { readonly from: Index; readonly configuration: Configuration }[];

  constructor(log: LogStore, raft: Raft, settings: Settings, start: ImagePosition) {
    this.#log = log;
    this.#raft = raft;
    this.#settings = settings;
    this.#configurations = [{ from: start.index, configuration: start.configuration }];
  }

  /** A Configuration entry was applied. */
  configured(from: Index, configuration: Configuration): void {
    this.#configurations.push({ from, configuration });
  }

  /** The state of a snapshot is in force. */
  restart(start: ImagePosition): void {
    this.#durable = undefined;
    this.#configurations = [{ from: start.index, configuration: start.configuration }];
  }

  /** The log is damaged up to `index`: that part goes as soon as the image holds its effect. */
  giveUp(index: Index, keepFrom: Index): void {
    this.#damagedTo = Math.max(this.#damagedTo, index);
    if (this.#durable !== undefined) this.advance(this.#durable, keepFrom);
  }

  /** The image is durable up to `position`; `keepFrom`: first entry that a snapshot needs. */
  advance(position: ImagePosition, keepFrom: Index): void {
    const { logBytesMax, logEntriesMax, logEntriesTrailing } = this.#settings;
    const log = this.#log;
    const count = log.lastIndex() - log.firstIndex() + 1;
    this.#durable = position;
    if (this.#damagedTo >= log.firstIndex()) {
      this.#compact(Math.min(this.#damagedTo, position.index, keepFrom - 1));
    }
    if (log.sizeBytes <= logBytesMax && count <= logEntriesMax) return;
    // Entries of unusual size: the tail counts in bytes as well.
    const bytesTrailing = Math.floor((count * logBytesMax) / (2 * Math.max(1, log.sizeBytes)));
    const trailing = Math.min(logEntriesTrailing, bytesTrailing);
    this.#compact(Math.min(position.index, log.lastIndex() - trailing, keepFrom - 1));
  }

  #compact(upTo: Index): void {
    const log = this.#log;
    if (upTo < log.firstIndex()) return;
    const term = log.term(upTo);
    if (term === undefined) return;
    log.compact(upTo, term, this.#configurationAt(upTo));
    this.#raft.compacted(log.firstIndex());
  }

  #configurationAt(index: Index): Configuration {
    while (this.#configurations.length > 1 && this.#configurations[1]!.from <= index) {
      this.#configurations.shift();
    }
    return this.#configurations[0]!.configuration;
  }
}
