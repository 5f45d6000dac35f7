error("msg")

error("msg", 0)

error("msg", 2)

error({code = 5})

error()

error(nil)

error(42)

local function f() error("deep") end f()

local function f() error("deep", 2) end
f()

return pcall(error, "x")

return pcall(error, "x", 2)

return pcall(error)

return pcall(function() error("in") end)

return pcall(function() error("in", 2) end)

return pcall(function() local x = nil; return x.y end)

return pcall(function() return undefinedvar.y end)

return pcall(function() undefinedfn() end)

return pcall(function() local t = {} t.a.b = 1 end)

return pcall(function() local t = {} t.a.b.c = 1 end)

return pcall(function() local t = {} t:nomethod() end)

return pcall(function() local t = {} t[1].x = 1 end)

return pcall(function() local t = {} t.x() end)

return pcall(function() local t = {} t.x.y() end)

local up return pcall(function() up() end)

local up return pcall(function() return up.x end)

local up return pcall(function() return up + 1 end)

local a = {} return pcall(function() return a.b + 1 end)

local a = "x" return pcall(function() return a + 1 end)

return pcall(function() return 1 + nil end)

return pcall(function() return -{} end)

return pcall(function() return #nil end)

local x return pcall(function() local y; return #y end)

return pcall(function() local a, b; return a .. b end)

return pcall(function() return ("x")() end)

return pcall(function() return (1)() end)

return pcall(nil)

return pcall()

return xpcall(function() error("e") end, function(m) return "handled: " .. m end)

return xpcall(function() return 1, 2 end, print)

return xpcall(function() error("e") end, function(m) error("again") end)

return pcall(pcall, error, "x")

return select("#", pcall(error))

assert(false)

assert(nil, "custom")

assert(false, {})

return assert(1, 2, 3)

assert()

return pcall(string.rep)

return pcall(string.rep, "x", "y")

local r = string.rep r()

local s = "x" s:rep()

local s = "x" s:rep({})

return pcall(ipairs)

string.rep("x", nil)

math.floor("a")

math.floor({})

("x"):format()

setmetatable({}, {__index = function(t, k) error("idx " .. k) end}).foo = nil return setmetatable({}, {__index = function(t, k) error("idx " .. k) end}).foo

return pcall(function() error(setmetatable({}, {__tostring = function() return "E" end})) end)

local ok, e = pcall(error, {code = 7}) return ok, type(e), e.code

local function a() error("tail", 2) end
local function b() return a() end
b()

local function a() local x = 1
  local y = x.z.w
end
a()

local t = {}
t.x
.y.z = 1

local x =
  1 +
  {}

print(
  nil .. "x")

local f = loadstring("return 1 +") return f

return loadstring("x = = 1")

return loadstring("return 1")()

return loadstring("error('inside')", "=named")

loadstring("error('inside')", "=named")()

loadstring("error('inside')", "@file.lua")()

loadstring("local a = 1\nerror('inside')")()

local ok, e = pcall(loadstring("local x = nil; x()", "=c")) return e

return pcall(next, {}, 1)

for i in 5 do end

for k in next, nil do end

for k, v in nil do end

return pcall(setmetatable, 1)

local function rec(n) if n == 0 then return 0 end return 1 + rec(n - 1) end return rec(150)

local function loop(n) if n == 0 then return "done" end return loop(n - 1) end return loop(5000)

return pcall(function(...) return select("#", ...) end, nil, nil)

string.char("x")

("x"):rep(1, 2, 3)

table.concat({{}})

tostring(setmetatable({}, {__tostring = function() error("ts") end}))

local co = 1; co.x.y = 2

a.b.c = 1

a.b = 1

a()

a.b()

local t = {} ; t.f = 1 ; t.f()

local t = {} ; t["f"]()

local t = {} ; local k = "f" ; t[k]()

string.nofunc()

return pcall(error, nil)
