import type { BinaryWriter, ByteString, Token } from '@lockstep/model';
import { SystemRow, Table } from '../image.ts';
import { OrderedMap } from '../ordered-map.ts';

/** High-water mark of one resource. */
export class FenceRow extends SystemRow {
  readonly resource: ByteString;
  token: Token;

  constructor(resource: ByteString, token: Token) {
    super();
    this.resource = resource;
    this.token = token;
  }

  get table(): number {
    return Table.Fences;
  }

  imageKey(): ByteString {
    return this.resource;
  }

  encode(writer: BinaryWriter): void {
    writer.f64(this.token);
  }
}

/** Bytes a mark counts against the quota, beyond its name. */
const FENCE_OVERHEAD_BYTES = 64;

/** Highest token seen by each resource. Survives the locks; removed by command only (design §9). */
export class FenceTable {
  readonly #rows = new Map<ByteString, FenceRow>();
  readonly #ordered = new OrderedMap<FenceRow>();
  liveBytes = 0;

  get(resource: ByteString): FenceRow | undefined {
    return this.#rows.get(resource);
  }

  add(row: FenceRow): void {
    this.#rows.set(row.resource, row);
    this.#ordered.set(row.resource, row);
    this.liveBytes += FENCE_OVERHEAD_BYTES + row.resource.length;
  }

  remove(row: FenceRow): void {
    this.#rows.delete(row.resource);
    this.#ordered.delete(row.resource);
    this.liveBytes -= FENCE_OVERHEAD_BYTES + row.resource.length;
  }

  visit(each: (resource: ByteString, token: Token) => boolean | undefined): void {
    this.#ordered.scan('', undefined, (resource, row) => each(resource, row.token));
  }
}
