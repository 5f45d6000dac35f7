import { bytesToFloat, bytesToInteger } from './byte-numbers.ts';
import { rawSet, SLOT_BYTES, TABLE_BYTES } from './operations.ts';
import type { LuaState } from './state.ts';
import { LuaTable } from './table.ts';
import type { ByteString, LuaValue } from './value.ts';

const LEVEL_DEPTH = 3;

/** Reads MessagePack values one after the other. */
export class MessagePackReader {
  at: number;
  private readonly state: LuaState;
  private readonly bytes: ByteString;

  constructor(state: LuaState, bytes: ByteString, at: number) {
    this.state = state;
    this.bytes = bytes;
    this.at = at;
  }

  read(): LuaValue {
    this.state.charge(2);
    const code = this.unsigned(1);
    if (code <= 0x7f) return code;
    if (code >= 0xe0) return code - 256;
    if (code >= 0xa0 && code <= 0xbf) return this.text(code & 31);
    if (code >= 0x90 && code <= 0x9f) return this.array(code & 15);
    if (code <= 0x8f) return this.map(code & 15);
    return this.readLong(code);
  }

  private readLong(code: number): LuaValue {
    switch (code) {
      case 0xc0:
        return undefined;
      case 0xc2:
      case 0xc3:
        return code === 0xc3;
      case 0xca:
        return bytesToFloat(this.bytes, this.take(4), 4, false);
      case 0xcb:
        return bytesToFloat(this.bytes, this.take(8), 8, false);
      case 0xcc:
      case 0xcd:
      case 0xce:
      case 0xcf:
        return this.unsigned(1 << (code - 0xcc));
      case 0xd0:
      case 0xd1:
      case 0xd2:
      case 0xd3: {
        const size = 1 << (code - 0xd0);
        const value = bytesToInteger(this.bytes, this.take(size), size, false);
        return Number(BigInt.asIntN(size * 8, value));
      }
      case 0xd9:
      case 0xda:
      case 0xdb:
        return this.text(this.unsigned(1 << (code - 0xd9)));
      case 0xdc:
      case 0xdd:
        return this.array(this.unsigned(code === 0xdc ? 2 : 4));
      case 0xde:
      case 0xdf:
        return this.map(this.unsigned(code === 0xde ? 2 : 4));
      default:
        throw this.state.error('Bad data format in input.');
    }
  }

  private take(size: number): number {
    const at = this.at;
    if (at + size > this.bytes.length) throw this.state.error('Missing bytes in input.');
    this.at = at + size;
    return at;
  }

  private unsigned(size: number): number {
    return Number(bytesToInteger(this.bytes, this.take(size), size, false));
  }

  private text(length: number): ByteString {
    const at = this.take(length);
    this.state.allocate(length);
    return this.bytes.slice(at, at + length);
  }

  private array(count: number): LuaTable {
    return this.nested((table) => {
      for (let i = 1; i <= count; i++) {
        const value = this.read();
        this.state.allocate(SLOT_BYTES);
        table.set(i, value);
      }
    });
  }

  private map(count: number): LuaTable {
    return this.nested((table) => {
      for (let i = 0; i < count; i++) {
        const key = this.read();
        const value = this.read();
        // The key nil or NaN raises what a store from Lua would.
        this.state.asLibrary(() => rawSet(this.state, table, key, value));
      }
    });
  }

  private nested(fill: (table: LuaTable) => void): LuaTable {
    this.state.enter(LEVEL_DEPTH);
    this.state.allocate(TABLE_BYTES);
    const table = new LuaTable();
    fill(table);
    this.state.depth -= LEVEL_DEPTH;
    return table;
  }
}
