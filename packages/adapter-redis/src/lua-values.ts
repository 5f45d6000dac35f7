import { type ByteString, LuaTable, type LuaValue } from '@lockstep/lua';
import { error, type Reply, status } from './reply.ts';
import type { Protocol } from './reply-writer.ts';

const INT64_MIN = -(2n ** 63n);
/** Tables nested deeper than this are refused, as Redis' Lua stack limit does. */
const DEPTH_MAX = 200;

/** A Redis reply as a script sees it (`reference/redis.md` §2.8); errors are tables with `err`. */
export function replyToLua(reply: Reply, protocol: Protocol): LuaValue {
  if (typeof reply === 'string' || typeof reply === 'number') return reply;
  if (typeof reply === 'bigint') return Number(reply);
  if (reply === null) return protocol === 3 ? undefined : false;
  if (isArray(reply)) return arrayToLua(reply, protocol);
  const resp3 = protocol === 3;
  switch (reply.kind) {
    case 'status':
      return LuaTable.fromObject({ ok: reply.text });
    case 'error':
      return LuaTable.fromObject({ err: reply.text });
    case 'null-array':
    case 'queued':
      return resp3 ? undefined : false;
    case 'map': {
      if (!resp3) return arrayToLua(reply.items, protocol);
      const pairs = new LuaTable();
      for (let i = 0; i + 1 < reply.items.length; i += 2) {
        const key = replyToLua(reply.items[i]!, protocol);
        pairs.set(key, replyToLua(reply.items[i + 1]!, protocol));
      }
      return LuaTable.fromObject({ map: pairs });
    }
    case 'set': {
      if (!resp3) return arrayToLua(reply.items, protocol);
      const members = new LuaTable();
      for (const item of reply.items) members.set(replyToLua(item, protocol), true);
      return LuaTable.fromObject({ set: members });
    }
    case 'double':
      return resp3 ? LuaTable.fromObject({ double: reply.value }) : String(reply.value);
    case 'boolean':
      return resp3 ? reply.value : reply.value ? 1 : 0;
    case 'big-number':
      return resp3 ? LuaTable.fromObject({ big_number: reply.text }) : reply.text;
    case 'verbatim':
      return reply.text;
    case 'push':
    case 'many':
      return arrayToLua(reply.items, protocol);
  }
}

function isArray(reply: Reply): reply is readonly Reply[] {
  return Array.isArray(reply);
}

function arrayToLua(items: readonly Reply[], protocol: Protocol): LuaTable {
  return LuaTable.fromArray(items.map((item) => replyToLua(item, protocol)));
}

/** What a script returned, as a reply. `protocol` is what the script chose by setresp. */
export function luaToReply(value: LuaValue, protocol: Protocol, depth = 0): Reply {
  switch (typeof value) {
    case 'undefined':
      return null;
    case 'boolean':
      if (protocol === 3) return { kind: 'boolean', value };
      return value ? 1 : null;
    case 'number':
      return truncate(value);
    case 'string':
      return value;
    default:
      if (!(value instanceof LuaTable)) return null;
      if (depth >= DEPTH_MAX) return error('ERR reached lua stack limit');
      return tableToReply(value, protocol, depth);
  }
}

/** Toward zero; what is no 64-bit integer becomes the smallest one, as on x86. */
function truncate(value: number): number | bigint {
  const whole = Math.trunc(value);
  if (Number.isSafeInteger(whole)) return whole + 0;
  return Math.abs(whole) < 2 ** 63 ? BigInt(whole) : INT64_MIN;
}

function tableToReply(table: LuaTable, protocol: Protocol, depth: number): Reply {
  const err = table.getString('err');
  if (typeof err === 'string') return error(err.startsWith('-') ? err.slice(1) : err);
  const ok = table.getString('ok');
  if (typeof ok === 'string') return status(ok);
  const double = table.getString('double');
  if (typeof double === 'number') return { kind: 'double', value: double };
  const big = table.getString('big_number');
  if (typeof big === 'string') return { kind: 'big-number', text: big };
  const verbatim = table.getString('verbatim_string');
  if (verbatim instanceof LuaTable) return verbatimToReply(verbatim);
  const map = table.getString('map');
  if (map instanceof LuaTable) return { kind: 'map', items: pairs(map, protocol, depth, true) };
  const set = table.getString('set');
  if (set instanceof LuaTable) return { kind: 'set', items: pairs(set, protocol, depth, false) };
  const items: Reply[] = [];
  for (let i = 1; ; i++) {
    const item = table.get(i);
    if (item === undefined) return items;
    items.push(luaToReply(item, protocol, depth + 1));
  }
}

function verbatimToReply(table: LuaTable): Reply {
  const text = table.getString('string');
  const format = table.getString('format');
  if (typeof text !== 'string' || typeof format !== 'string') return null;
  return { kind: 'verbatim', format: format.slice(0, 3), text };
}

function pairs(table: LuaTable, protocol: Protocol, depth: number, values: boolean): Reply[] {
  const items: Reply[] = [];
  for (let entry = table.next(undefined); entry; entry = table.next(entry[0])) {
    items.push(luaToReply(entry[0], protocol, depth + 1));
    if (values) items.push(luaToReply(entry[1], protocol, depth + 1));
  }
  return items;
}

/** An argument of redis.call; undefined when it is neither string nor number. */
export function argumentText(value: LuaValue): ByteString | undefined {
  if (typeof value === 'string') return value;
  if (typeof value !== 'number') return undefined;
  if (Number.isInteger(value) && Math.abs(value) < 2 ** 63) return BigInt(value).toString();
  if (Number.isNaN(value)) return 'nan';
  return Number.isFinite(value) ? String(value) : value > 0 ? 'inf' : '-inf';
}
