import { commandTable } from '@lockstep/adapter-redis';

/** A script with the keys that it changes. Each branches on what might differ between members. */
export interface Script {
  readonly name: string;
  readonly text: string;
  /** Its reply tells the branch it took. */
  readonly branches?: boolean;
}

const TEXT = `
local function text(e)
  if type(e) == 'table' then return e.err or e.ok or 'table' end
  return tostring(e)
end
`;

const PAIRS = `
local t = {}
for i = 1, #ARGV do t[ARGV[i]] = i end
for i = 1, #ARGV, 2 do t[ARGV[i]] = nil end
for i = #ARGV, 1, -1 do t['x' .. ARGV[i]] = i; t[i * 7] = i end
t.gone = 1; t.gone = nil
local s = ''
for k, v in pairs(t) do s = s .. tostring(k) .. '=' .. v .. ';' end
local first = next(t)
if tostring(first) < 'b' then redis.call('INCR', KEYS[2]) else redis.call('DEL', KEYS[2]) end
redis.call('SET', KEYS[1], s)
return #s`;

/**
 * KEYS[1] is set to something that depends on the trap; KEYS[2] is a counter that a branch
 * touches; ARGV are words of the client.
 */
const WRITTEN: readonly Script[] = [
  {
    name: 'publish and time',
    branches: true,
    text: `
local n = redis.call('PUBLISH', 'script', ARGV[1])
local t = redis.call('TIME')
if n > 0 then redis.call('SET', KEYS[1], 'heard:' .. n); return 'heard' end
if math.floor(t[2] / 1000) % 2 == 0 then
  redis.call('SET', KEYS[1], 'even:' .. t[1] .. '.' .. t[2])
  return 'even'
end
redis.call('INCR', KEYS[2])
redis.call('SET', KEYS[1], 'odd:' .. t[2], 'PX', 700)
return 'odd'`,
  },
  { name: 'pairs', text: PAIRS },
  {
    name: 'order of keys',
    text: `
local keys = redis.call('KEYS', '*')
local page = redis.call('SCAN', '0', 'COUNT', '3')
local any = redis.call('RANDOMKEY')
redis.call('SET', KEYS[1], table.concat(keys, ',') .. '/' .. page[1] .. '/' .. tostring(any))
if any and #any % 2 == 0 then redis.call('INCR', KEYS[2]) end
return #keys`,
  },
  {
    name: 'error texts',
    text: `${TEXT}
redis.call('SET', KEYS[1], 'no number')
local s = text(redis.pcall('INCR', KEYS[1])) .. '|' .. text(redis.pcall('NOSUCH', 'x'))
local ok, e = pcall(function() local none; return none.field end)
s = s .. '|' .. text(e)
ok, e = pcall(redis.call, 'SET', KEYS[1])
s = s .. '|' .. text(e) .. '|' .. tostring(redis.sha1hex(ARGV[1]))
redis.call('SET', KEYS[1], s)
return 0`,
  },
  {
    name: 'numbers, addresses and chance',
    text: `
local s = tostring({}) .. tostring(table.concat) .. tostring(redis.call)
s = s .. '|' .. math.random(1000000)
s = s .. '|' .. string.format('%.17g', math.sin(#ARGV[1]) + 0.1) .. '|' .. tostring(1e15 / 3)
redis.call('SET', KEYS[1], s)
if math.random() < 0.5 then redis.call('INCR', KEYS[2]) end
return 0`,
  },
  {
    name: 'what is left of a time to live',
    text: `
redis.call('SET', KEYS[1], ARGV[1], 'PX', 900)
local left, at = redis.call('PTTL', KEYS[1]), redis.call('PEXPIRETIME', KEYS[1])
local now = redis.call('TIME')
redis.call('APPEND', KEYS[1], ':' .. left .. ':' .. at .. ':' .. now[1])
if left == 900 then redis.call('INCR', KEYS[2]) end
return left`,
  },
];

/** Takes members out of a set, which another order of insertion would make others. */
const SPOP: Script = {
  name: 'spop',
  text: `
local set = KEYS[1] .. ':set'
for i = 1, #ARGV do redis.call('SADD', set, ARGV[i]) end
local out = redis.call('SPOP', set, 2)
if #out > 0 and #out[1] % 2 == 0 then redis.call('INCR', KEYS[2]) end
local one = redis.call('SPOP', set)
redis.call('SET', KEYS[1], table.concat(out, ',') .. '/' .. tostring(one))
if redis.call('SCARD', set) > 6 then redis.call('DEL', set) end
return #out`,
};

/** All of them that the door's commands allow. */
export const SCRIPTS: readonly Script[] = commandTable.has('spop') ? [...WRITTEN, SPOP] : WRITTEN;
