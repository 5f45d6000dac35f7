-- Runs every case of a file with the reference interpreter and prints what it gives.
-- Usage: lua5.1 capture.lua cases.lua > cases.txt
local function show(v)
  if type(v) == "string" then
    return (string.format("%q", v):gsub("\n", "n"):gsub("[\1-\31\127-\255]", function(c)
      return string.format("\\%03d", c:byte())
    end))
  end
  local t = type(v)
  if t == "nil" or t == "boolean" or t == "number" then return tostring(v) end
  return "<" .. t .. ">"
end

local function line(ok, ...)
  local parts = {}
  for i = 1, select("#", ...) do parts[i] = show((select(i, ...))) end
  return (ok and "= " or "! ") .. table.concat(parts, " ")
end

local file = assert(io.open(arg[1], "rb"))
local text = file:read("*a"):gsub("\n+$", "")
file:close()
text = text .. "\n\n"
for case in text:gmatch("(.-)\n\n") do
  local chunk, message = loadstring(case, "=case")
  if chunk == nil then
    print("? " .. show(message))
  else
    setfenv(chunk, setmetatable({}, {__index = _G}))
    print(line(pcall(chunk)))
  end
end
