local co = coroutine.create(function(a, b) local c = coroutine.yield(a + b) local d, e = coroutine.yield(c * 2) return d, e end) return coroutine.resume(co, 1, 2), select(2, coroutine.resume(co, 10)), select(2, coroutine.resume(co, "x", "y")), coroutine.status(co)

local gen = coroutine.wrap(function() for i = 1, 3 do coroutine.yield(i) end end) return gen(), gen(), gen(), gen()

local s = "" for v in coroutine.wrap(function() for _, w in ipairs{"a", "b", "c"} do coroutine.yield(w) end end) do s = s .. v end return s

local co = coroutine.create(function() error("inside") end) return coroutine.resume(co)

local co = coroutine.create(function() error({}) end) local ok, e = coroutine.resume(co) return ok, type(e), coroutine.status(co)

local co = coroutine.create(function() end) coroutine.resume(co) return coroutine.resume(co)

local f = coroutine.wrap(function() end) f() f()

local f = coroutine.wrap(function() error("oops") end) f()

local f = coroutine.wrap(function() error({1}) end) local ok, e = pcall(f) return type(e)

return coroutine.status(coroutine.create(function() end)), coroutine.running(), type(coroutine.create(function() end))

local co co = coroutine.create(function() return coroutine.status(co), coroutine.running() == co, coroutine.resume(co) end) return coroutine.resume(co)

coroutine.yield(1)

local co = coroutine.create(function() pcall(coroutine.yield, 1) return "after" end) return coroutine.resume(co)

local co = coroutine.create(function() return pcall(function() coroutine.yield(1) end) end) return coroutine.resume(co)

local co = coroutine.create(function() local t = setmetatable({}, {__index = function() return coroutine.yield(1) end}) return t.x end) return coroutine.resume(co)

local co = coroutine.create(function() for x in function() return coroutine.yield(1) end do end end) return coroutine.resume(co)

coroutine.create(print)

coroutine.create(1)

coroutine.resume(1)

coroutine.status()

local function tree(t) if t then tree(t[1]) coroutine.yield(t[2]) tree(t[3]) end end local s = "" for v in coroutine.wrap(function() tree({{nil, 1, {nil, 2}}, 3, {nil, 4}}) end) do s = s .. v end return s

local co = coroutine.wrap(function(...) local t = {coroutine.yield(...), coroutine.yield(3)} return #t, unpack(t) end) return select("#", co(1, 2)), co("a", "b"), co("c", "d")

local co = coroutine.wrap(function() local t = {} t[coroutine.yield(1)], t.y = coroutine.yield(2) return t.k, t.y end) co() co("k") return co("v", "w")

local co = coroutine.wrap(function() if coroutine.yield(1) then return "yes" elseif coroutine.yield(2) then return "else" end return "no" end) co() co(false) return co(true)

local co = coroutine.wrap(function() local n = 0 while coroutine.yield(n) do n = n + 1 end return "end" .. n end) co() co(true) co(true) return co(false)

local co = coroutine.wrap(function() local n = 0 repeat local x = coroutine.yield(n) n = n + 1 until x return n end) co() co(false) return co(true)

local co = coroutine.wrap(function() for i = coroutine.yield("s"), coroutine.yield("l") do coroutine.yield(i) end return "fin" end) co() co(1) return co(2), co(), co()

local co = coroutine.wrap(function() return coroutine.yield(1) end) co() return co("x", "y")

local co = coroutine.wrap(function() local x = (coroutine.yield(1)) + (coroutine.yield(2)) return x .. coroutine.yield(3), -coroutine.yield(4), #coroutine.yield(5), not coroutine.yield(6) end) co() co(1) co(2) co("z") co(7) co("abc") return co(false)

local co = coroutine.wrap(function() local x = coroutine.yield(1) or coroutine.yield(2) local y = x and coroutine.yield(3) return x, y end) co() co(nil) co("X") return co("Y")

local co = coroutine.wrap(function() local t = {a = coroutine.yield(1), [coroutine.yield(2)] = 5, coroutine.yield(3)} return t.a, t.k, t[1] end) co() co("A") co("k") return co("P")

local co = coroutine.wrap(function() local s = "abc" return s:sub(coroutine.yield(1), 2), coroutine.yield(2).x.y end) co() co(1) return pcall(co, {})

local co = coroutine.wrap(function() local x return x .. coroutine.yield(1) end) co() return pcall(co, "y")

local co = coroutine.wrap(function() do local i = 0 while true do i = i + 1 if i > 3 then break end coroutine.yield(i) end end return "out" end) return co(), co(), co(), co()

local co = coroutine.wrap(function() local fs = {} for i = 1, 3 do fs[i] = function() return i end coroutine.yield() end return fs[1](), fs[2](), fs[3]() end) co() co() co() return co()

local function loop(n) if n == 0 then return coroutine.yield("bottom") end return loop(n - 1) end local co = coroutine.wrap(function() return loop(1000) end) return co(), co("up")

local a, b a = coroutine.wrap(function() return b() end) b = coroutine.wrap(function() return "nested", pcall(a) end) return a()

local outer = coroutine.wrap(function() local inner = coroutine.wrap(function() coroutine.yield(1) coroutine.yield(2) end) coroutine.yield(inner()) coroutine.yield(inner()) end) return outer(), outer()

local co = coroutine.wrap(function() local function f(...) return select("#", ...), ... end return f(coroutine.yield(1)) end) co() return co(nil, nil)

local co = coroutine.create(function() local x = nil; x() end) return coroutine.resume(co)

local co = coroutine.create(function()
  local y = 1
  error("line", 2) end) return coroutine.resume(co)

local co = coroutine.wrap(function() local function g() error("lvl2", 2) end
  g() end) return pcall(co)

return coroutine.wrap(function() return pcall(pcall, error, "e") end)()

return select("#", coroutine.resume(coroutine.create(function() return nil, nil end)))
