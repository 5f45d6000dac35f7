import type { Event } from '../gen/kv.ts';

/** Bytes of an event in a response, within a few of the exact figure. */
export function eventBytes(event: Event): number {
  const { kv, prevKv } = event;
  let size = 64 + kv!.key.length + kv!.value.length;
  if (prevKv !== undefined) size += 32 + prevKv.key.length + prevKv.value.length;
  return size;
}

/** Cuts events into parts of at most `bytesMax`, at least one event each; one part when small. */
export function fragments(events: Event[], bytesMax: number): Event[][] {
  const parts: Event[][] = [];
  let part: Event[] = [];
  let size = 0;
  for (const event of events) {
    const bytes = eventBytes(event);
    if (part.length > 0 && size + bytes > bytesMax) {
      parts.push(part);
      part = [];
      size = 0;
    }
    part.push(event);
    size += bytes;
  }
  parts.push(part);
  return parts;
}
