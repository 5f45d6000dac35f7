import type { FileError, FileSystem } from '@lockstep/model';
import { InvariantError, LockstepError, mark, UnknownFormatError } from '@lockstep/model';
import type { Configuration } from '@lockstep/raft';
import type { LogIdentity, Salvage } from '../contract.ts';
import { EMPTY_HARD_STATE } from '../memory-log-store.ts';
import { readFile } from '../steps.ts';
import { ANCHOR_BYTES, type AnchorPoint, decodeAnchor } from './anchor.ts';
import { LogView } from './log-view.ts';
import { Replay } from './replay.ts';
import { SalvageSurvey } from './salvage-survey.ts';
import { partsOf, type SalvagePart, walkSalvage } from './salvage-walk.ts';
import { liveChain, type SegmentFile } from './segment-chain.ts';
import {
  type ChainEnd,
  type Damage,
  decodeHeader,
  HEADER_BYTES,
  segmentName,
  segmentNumber,
} from './segment-header.ts';
import { type ScanResult, scanSegment } from './segment-scan.ts';

export const ANCHOR_NAME = 'anchor';

export interface RecoveryInput {
  readonly fileSystem: FileSystem;
  readonly directory: string;
  readonly identity: LogIdentity;
  readonly bootstrap: Configuration;
  readonly cacheBytesMax: number;
}

/** What the files say; nothing has been written yet. */
export interface Recovered {
  readonly view: LogView;
  readonly health: 'clean' | 'torn' | 'damaged';
  readonly damage: Damage | undefined;
  /** Good entries behind damage found now. */
  readonly salvage: Salvage | undefined;
  /** The damage was found now and no segment behind it exists yet. */
  readonly isFreshDamage: boolean;
  readonly nextSequence: number;
  /** End of the good chain. */
  readonly end: ChainEnd;
  /** Live segments with the offset behind their last record. */
  readonly segments: readonly { readonly segment: number; readonly endOffset: number }[];
  readonly last: SegmentFile | undefined;
  /** Good bytes of the last segment. */
  readonly lastBytes: Uint8Array;
  readonly highestSegment: number;
  /** Files below the live ones, and unfinished ones. */
  readonly leftovers: readonly string[];
  readonly anchorCounter: number;
  readonly hasAnchor: boolean;
}

/** Reads the log; reports an error only when a file cannot be read or belongs to another log. */
export function recover(input: RecoveryInput, done: RecoveryDone): void {
  new Recovery(input, done).start();
}

type RecoveryDone = (error: FileError | undefined, recovered: Recovered) => void;

class Recovery {
  readonly #input: RecoveryInput;
  readonly #done: RecoveryDone;
  readonly #files: SegmentFile[] = [];
  #names: string[] = [];
  #badHeaders: { readonly segment: number; readonly reason: string }[] = [];
  #anchor: { point: AnchorPoint; counter: number } | undefined;
  #hasAnchor = false;
  #damage: Damage | undefined;
  #replay: Replay | undefined;
  #segments: { segment: number; endOffset: number }[] = [];
  #last: SegmentFile | undefined;
  #lastBytes: Uint8Array = new Uint8Array(0);
  #end: ChainEnd = { segment: 0, offset: 0, crc: 0 };
  #nextSequence = 1;
  #isTorn = false;
  /** What is to be read behind the damage; undefined when links are missing too. */
  #behind: readonly SalvagePart[] | undefined = [];
  #salvage: Salvage | undefined;

  constructor(input: RecoveryInput, done: RecoveryDone) {
    this.#input = input;
    this.#done = done;
  }

  start(): void {
    this.#input.fileSystem.list(this.#input.directory, (error, names) => {
      if (error !== undefined) return this.#fail(error);
      this.#names = names;
      this.#readAnchor();
    });
  }

  #path(name: string): string {
    return `${this.#input.directory}/${name}`;
  }

  #fail(error: FileError): void {
    this.#done(error, undefined as never);
  }

  #readAnchor(): void {
    readFile(this.#input.fileSystem, this.#path(ANCHOR_NAME), ANCHOR_BYTES, (error, bytes) => {
      if (error !== undefined && error.code !== 'ENOENT') return this.#fail(error);
      this.#hasAnchor = error === undefined && bytes.length === ANCHOR_BYTES;
      this.#anchor = decodeAnchor(bytes);
      this.#readHeaders(this.#names.filter((name) => segmentNumber(name) !== undefined));
    });
  }

  #readHeaders(names: readonly string[]): void {
    const [name, ...rest] = names;
    if (name === undefined) {
      this.#walk(Number.MAX_SAFE_INTEGER);
      return;
    }
    readFile(this.#input.fileSystem, this.#path(name), HEADER_BYTES, (error, bytes) => {
      if (error !== undefined) return this.#fail(error);
      const segment = segmentNumber(name)!;
      const decoded = this.#decodeHeader(name, bytes);
      if (decoded === undefined) return;
      if (typeof decoded === 'string') {
        this.#badHeaders.push({ segment, reason: decoded });
        return this.#readHeaders(rest);
      }
      const { header, crc } = decoded;
      const { identity } = this.#input;
      const { cluster, member } = header.identity;
      if (cluster !== identity.cluster || member !== identity.member) {
        const owner = `member ${member} of cluster ${cluster}`;
        const wanted = `member ${identity.member} of cluster ${identity.cluster}`;
        return this.#fail(mismatch(this.#path(name), owner, wanted));
      }
      if (header.segment !== segment) {
        const reason = `file holds segment ${header.segment}`;
        this.#badHeaders.push({ segment, reason });
      } else this.#files.push({ segment, name, header, headerCrc: crc });
      this.#readHeaders(rest);
    });
  }

  /** Undefined when newer software wrote the file: then the whole log is left as it is. */
  #decodeHeader(name: string, bytes: Uint8Array): ReturnType<typeof decodeHeader> | undefined {
    try {
      return decodeHeader(bytes);
    } catch (error) {
      if (!(error instanceof UnknownFormatError)) throw error;
      const message = `${this.#path(name)}: ${error.message}: newer software wrote this log`;
      this.#fail({ code: 'EFORMAT', message });
      return undefined;
    }
  }

  /** Replays the live chain whose newest segment is at most `last`. */
  #walk(last: number): void {
    const chain = liveChain(this.#files, last);
    const first = chain[0];
    if (first === undefined) {
      this.#finish();
      return;
    }
    this.#replay = new Replay(first.header, this.#input.cacheBytesMax);
    this.#segments = [];
    this.#scan(chain, 0);
  }

  #scan(chain: readonly SegmentFile[], at: number): void {
    const file = chain[at];
    if (file === undefined) {
      this.#endOfChain(chain);
      return;
    }
    readFile(this.#input.fileSystem, this.#path(file.name), 2 ** 32, (error, bytes) => {
      if (error !== undefined) return this.#fail(error);
      const problem = at === 0 ? undefined : this.#enter(file);
      if (problem !== undefined) {
        this.#found(file.name, 0, problem);
        this.#behind = undefined;
        return this.#endOfChain(chain);
      }
      const result = this.#scanFile(file, bytes, chain[at + 1]?.header.previous);
      this.#took(file, bytes, result);
      if (result.verdict === 'damaged') {
        this.#found(file.name, result.offset, result.reason);
        const parts = partsOf(chain, this.#input.directory).slice(at);
        const rest = { ...parts[0]!, start: result.later, file: undefined };
        if (this.#behind !== undefined) this.#behind = [rest, ...parts.slice(1), ...this.#behind];
        return this.#endOfChain(chain);
      }
      this.#scan(chain, at + 1);
    });
  }

  #enter(file: SegmentFile): string | undefined {
    try {
      this.#replay!.enter(file.header);
      return undefined;
    } catch (error) {
      if (error instanceof InvariantError) return error.message;
      throw error;
    }
  }

  #scanFile(file: SegmentFile, bytes: Uint8Array, end: ChainEnd | undefined): ScanResult {
    return scanSegment({
      bytes,
      segment: file.segment,
      sizeBytes: file.header.sizeBytes,
      start: {
        offset: HEADER_BYTES,
        crc: file.headerCrc,
        sequence: file.header.firstSequence,
      },
      end,
      accept: (record, position) => this.#replay!.accept(record, position),
    });
  }

  #took(file: SegmentFile, bytes: Uint8Array, result: ScanResult): void {
    this.#segments.push({ segment: file.segment, endOffset: result.offset });
    this.#last = file;
    this.#lastBytes = bytes.subarray(0, result.offset);
    this.#end = { segment: file.segment, offset: result.offset, crc: result.crc };
    this.#nextSequence = result.nextSequence;
    this.#isTorn = result.verdict === 'torn';
    if (this.#isTorn) mark('torn record cut');
  }

  #found(name: string, offset: number, reason: string): void {
    mark('log is damaged');
    this.#damage ??= { file: this.#path(name), offset, reason };
  }

  /** A vote given in a term whose record is lost must not be given again. */
  #adoptTerm(hardState: { term: number; vote: number; commit: number } | undefined): void {
    const view = this.#replay?.view;
    if (view === undefined || hardState === undefined) return;
    if (hardState.term <= view.hardState.term) return;
    view.hardState = { ...hardState, commit: view.hardState.commit };
  }

  #endOfChain(chain: readonly SegmentFile[]): void {
    const first = chain[0]!;
    if (this.#replay!.isComplete) {
      this.#finish();
      return;
    }
    const missing = first.header.previous;
    this.#found(segmentName(missing.segment), 0, 'segment is missing');
    const lower = first.segment - 1;
    const below = liveChain(this.#files, lower);
    this.#keepBehind(chain, below.at(-1)?.segment ?? 0);
    if (below.length > 0) {
      this.#walk(lower);
      return;
    }
    // Nothing below: what remains is the state in the oldest header.
    this.#replay = new Replay(
      { ...first.header, firstIndexExpected: first.header.base.index + 1 },
      this.#input.cacheBytesMax,
    );
    this.#segments = [];
    this.#end = { segment: 0, offset: 0, crc: 0 };
    this.#last = undefined;
    this.#finish();
  }

  /** The chain stands behind a missing segment, whose file may still hold good records. */
  #keepBehind(chain: readonly SegmentFile[], below: number): void {
    const { previous } = chain[0]!.header;
    // Links above are missing as well, or segments in between were given up: nobody can say which.
    const isPlain = this.#behind?.length === 0 && below < previous.segment;
    if (!isPlain) {
      this.#behind = undefined;
      return;
    }
    const name = segmentName(previous.segment);
    const { segment } = previous;
    const path = this.#path(name);
    const headless: SalvagePart = {
      segment,
      path,
      start: 'unknown',
      end: previous,
      file: undefined,
      sizeBytes: 0,
    };
    const parts = partsOf(chain, this.#input.directory);
    this.#behind = this.#names.includes(name) ? [headless, ...parts] : parts;
  }

  /** Reads what is still good behind the damage, then reports. */
  #finish(): void {
    const view = this.#replay?.view;
    if (view === undefined || this.#behind === undefined || this.#behind.length === 0) {
      this.#report();
      return;
    }
    const sequence = this.#last === undefined ? 0 : this.#nextSequence - 1;
    const survey = new SalvageSurvey(view, sequence);
    walkSalvage(this.#input.fileSystem, this.#behind, survey, (error, isEndGood) => {
      if (error !== undefined) return this.#fail(error);
      this.#salvage = survey.finish(isEndGood, this.#anchor?.point.sequence ?? 0);
      this.#nextSequence = Math.max(this.#nextSequence, survey.sequence + 1);
      this.#adoptHardState(survey);
      this.#report();
    });
  }

  /** A vote given in a record behind the damage must not be given again. */
  #adoptHardState({ hardState }: SalvageSurvey): void {
    const view = this.#replay!.view;
    if (hardState === undefined) return;
    if (this.#salvage === undefined) {
      this.#adoptTerm(hardState);
      return;
    }
    view.hardState = { ...hardState, commit: view.hardState.commit };
    let { term } = hardState;
    for (const entry of this.#salvage?.entries.values() ?? []) term = Math.max(term, entry.term);
    if (term > hardState.term) this.#adoptTerm({ term, vote: 0, commit: 0 });
  }

  #report(): void {
    this.#judgeBadHeaders();
    this.#judgeAnchor();
    const view = this.#replay?.view ?? this.#emptyView();
    if (this.#damage !== undefined) {
      for (const { header } of this.#files) this.#adoptTerm(header.hardState);
    }
    const commit = Math.min(view.hardState.commit, view.lastIndex);
    view.hardState = { ...view.hardState, commit };
    const damage = this.#damage ?? this.#replay?.damage;
    const anchored = this.#anchor?.point.sequence ?? 0;
    this.#done(undefined, {
      view,
      health: damage !== undefined ? 'damaged' : this.#isTorn ? 'torn' : 'clean',
      damage,
      salvage: this.#salvage,
      isFreshDamage: this.#damage !== undefined,
      nextSequence: Math.max(this.#nextSequence, anchored + 1),
      end: this.#end,
      segments: this.#segments,
      last: this.#last,
      lastBytes: this.#lastBytes,
      highestSegment: Math.max(
        0,
        ...this.#names.map((name) => segmentNumber(name) ?? 0),
        this.#anchor?.point.segment ?? 0,
      ),
      leftovers: this.#leftovers(),
      anchorCounter: this.#anchor?.counter ?? 0,
      hasAnchor: this.#hasAnchor,
    });
  }

  #emptyView(): LogView {
    const base = { index: 0, term: 0, configuration: this.#input.bootstrap };
    return new LogView(EMPTY_HARD_STATE, base, this.#input.cacheBytesMax);
  }

  #judgeBadHeaders(): void {
    // Below the live chain stand leftovers of compaction; given-up ones lie between its members.
    const first = this.#segments[0]?.segment ?? 0;
    const last = this.#segments.at(-1)?.segment ?? 0;
    for (const { segment, reason } of this.#badHeaders) {
      if (segment > last || first === 0) this.#found(segmentName(segment), 0, reason);
    }
  }

  #judgeAnchor(): void {
    const anchored = this.#anchor?.point;
    if (anchored === undefined || anchored.sequence < this.#nextSequence) return;
    const file = segmentName(this.#end.segment || anchored.segment);
    const reason =
      `log ends at record ${this.#nextSequence - 1}, ` +
      `but record ${anchored.sequence} was durable`;
    this.#found(file, this.#end.offset, reason);
  }

  #leftovers(): string[] {
    const first = this.#segments[0]?.segment ?? 0;
    return this.#names.filter((name) => {
      const segment = segmentNumber(name);
      return segment === undefined ? name !== ANCHOR_NAME : segment < first;
    });
  }
}

function mismatch(path: string, owner: string, wanted: string): FileError {
  const { code, message } = new LockstepError('DATA_DIRECTORY_MISMATCH', path, owner, wanted);
  return { code, message };
}
