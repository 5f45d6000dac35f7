import type { SegmentHeader } from './segment-header.ts';

export interface SegmentFile {
  readonly segment: number;
  readonly name: string;
  readonly header: SegmentHeader;
  readonly headerCrc: number;
}

/**
 * The live segments among those with a good header and a number up to `last`: the newest and, by
 * the links in the headers, its predecessors as far as they exist. Segments in between that no
 * link names were given up after damage.
 */
export function liveChain(files: readonly SegmentFile[], last: number): SegmentFile[] {
  const bySegment = new Map(files.map((file) => [file.segment, file]));
  const newest = Math.max(0, ...files.map((file) => file.segment).filter((n) => n <= last));
  const chain: SegmentFile[] = [];
  for (let file = bySegment.get(newest); file !== undefined; ) {
    chain.unshift(file);
    const { previous } = file.header;
    // Links go down only; anything else would be a loop.
    file = previous.segment < file.segment ? bySegment.get(previous.segment) : undefined;
  }
  return chain;
}
