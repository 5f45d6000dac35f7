x = 1

return y

return _G.y

return rawget(_G, "y")

return pcall(rawset, _G, "a", 1)

return pcall(setmetatable, _G, {})

return pcall(function() string.x = 1 end)

return pcall(table.insert, string, 1)

return pcall(function() getmetatable("").__index = {} end)

return pcall(function() cjson.null = 1 end)

return pcall(function() math.pi = 3 end)

function f() end

local function f() return undefinedname end return pcall(f)

return print

return os

return io

return require

return dofile

return debug

return getfenv

return newproxy

return _VERSION, type(_G), _G == _G._G

local t = setmetatable({}, {__index = _G}) return t.string == string, pcall(function() return t.nothing end)

return loadstring("return zzz")()

loadstring("zzz = 1")()

return type(loadstring), type(load), type(unpack), type(coroutine.wrap), type(bit.band), type(struct.pack), type(cmsgpack.pack), type(cjson.encode), type(gcinfo)

KEYS[1] = "x" return KEYS[1]

KEYS = 1

for k in pairs(string) do string[k] = nil end

local s = 0 for i = 1, 3 do local i = i * 2 s = s + i end return s

return pcall(error, {err = "x"})
