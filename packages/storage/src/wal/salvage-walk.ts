import type { FileError, FileSystem } from '@lockstep/model';
import { readFile } from '../steps.ts';
import type { SalvageSurvey } from './salvage-survey.ts';
import type { SegmentFile } from './segment-chain.ts';
import { type ChainEnd, HEADER_BYTES } from './segment-header.ts';
import { findLater, type ScanStart, scanSegment } from './segment-scan.ts';

/** A segment, or the rest of one, behind damage. */
export interface SalvagePart {
  readonly segment: number;
  readonly path: string;
  /** Where a good record stands; `unknown`: the header is bad; undefined: nothing good is left. */
  readonly start: ScanStart | 'unknown' | undefined;
  readonly end: ChainEnd | undefined;
  /** 0 when the header is bad: then the end is known from the next one. */
  readonly sizeBytes: number;
  /** Present when the segment is read from its beginning. */
  readonly file: SegmentFile | undefined;
}

/** Segments of a chain, each to the end that the next one names. */
export function partsOf(chain: readonly SegmentFile[], directory: string): SalvagePart[] {
  return chain.map((file, at) => ({
    segment: file.segment,
    path: `${directory}/${file.name}`,
    start: {
      offset: HEADER_BYTES,
      crc: file.headerCrc,
      sequence: file.header.firstSequence,
    },
    end: chain[at + 1]?.header.previous,
    sizeBytes: file.header.sizeBytes,
    file,
  }));
}

/** Reads the parts in order; `isEndGood`: the last one ends as a whole log does. */
export function walkSalvage(
  fileSystem: FileSystem,
  parts: readonly SalvagePart[],
  survey: SalvageSurvey,
  done: (error: FileError | undefined, isEndGood: boolean) => void,
): void {
  const next = (at: number, isEndGood: boolean): void => {
    const part = parts[at];
    if (part === undefined) {
      done(undefined, isEndGood);
      return;
    }
    readFile(fileSystem, part.path, 2 ** 32, (error, bytes) => {
      if (error !== undefined) done(error, false);
      else next(at + 1, scanPart(part, bytes, survey));
    });
  };
  next(0, false);
}

/** False when the part ends in damage. */
function scanPart(part: SalvagePart, bytes: Uint8Array, survey: SalvageSurvey): boolean {
  const { segment, end, sizeBytes } = part;
  if (part.file !== undefined) survey.header(part.file.header);
  let start =
    part.start === 'unknown'
      ? findLater({ bytes, segment, end }, HEADER_BYTES, survey.sequence)
      : part.start;
  while (start !== undefined) {
    const accept = survey.record.bind(survey);
    const result = scanSegment({ bytes, sizeBytes, segment, start, end, accept });
    if (result.verdict !== 'damaged') return true;
    start = result.later;
  }
  return false;
}
