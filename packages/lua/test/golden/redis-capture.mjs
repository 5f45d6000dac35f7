// Runs every case of a file with a Redis server and prints what it gives.
// Usage: node redis-capture.mjs PORT cases.lua > cases.txt
import { readFileSync } from 'node:fs';
import { createConnection } from 'node:net';

const [port, file] = process.argv.slice(2);
const cases = readFileSync(file, 'latin1').replace(/\n+$/, '').split('\n\n');

// The script shows its own results, so that the reply is one string.
const wrap = (source) => `
local function show(v)
  if type(v) == "string" then
    return (string.format("%q", v):gsub("\\n", "n"):gsub("[\\1-\\31\\127-\\255]", function(c)
      return string.format("\\\\%03d", c:byte())
    end))
  end
  local t = type(v)
  if t == "nil" or t == "boolean" or t == "number" then return tostring(v) end
  if t == "table" then
    local parts = {}
    for i, e in ipairs(v) do parts[i] = show(e) end
    return "{" .. table.concat(parts, " ") .. "}"
  end
  return "<" .. t .. ">"
end
local function line(ok, ...)
  local parts = {}
  for i = 1, select("#", ...) do parts[i] = show((select(i, ...))) end
  return (ok and "= " or "! ") .. table.concat(parts, " ")
end
local chunk, message = loadstring(ARGV[1], "=case")
if chunk == nil then return "? " .. show(message) end
return line(pcall(chunk))`;

function command(...args) {
  return Buffer.from(
    `*${args.length}\r\n${args.map((a) => `$${a.length}\r\n${a}\r\n`).join('')}`,
    'latin1',
  );
}

const socket = createConnection({ host: '127.0.0.1', port: Number(port) });
for (const source of cases) socket.write(command('EVAL', wrap(source), '0', source));
let received = '';
let answered = 0;
socket.on('data', (data) => {
  received += data.toString('latin1');
  for (;;) {
    const head = /^([$+-])([^\r]*)\r\n/.exec(received);
    if (head === null) return;
    let end = head[0].length;
    let text = head[0].trimEnd();
    if (head[1] === '$') {
      const length = Number(head[2]);
      if (received.length < end + length + 2) return;
      text = received.slice(end, end + length);
      end += length + 2;
    }
    process.stdout.write(`${text}\n`, 'latin1');
    received = received.slice(end);
    if (++answered === cases.length) socket.end();
  }
});
