local mt = {__add = function(a, b) return "add" end, __sub = function() return "sub" end, __mul = function() return "mul" end, __div = function() return "div" end, __mod = function() return "mod" end, __pow = function() return "pow" end, __unm = function() return "unm" end, __concat = function() return "cat" end} local t = setmetatable({}, mt) return t + 1, 1 - t, t * t, t / 2, t % 2, t ^ 2, -t, t .. "x", "x" .. t, 1 .. t

local t = setmetatable({}, {__index = function(t, k) return k .. "!" end}) return t.x, t[1], rawget(t, "x")

local t = setmetatable({}, {__index = {a = 1}}) return t.a, t.b

local log = {} local t = setmetatable({}, {__newindex = function(t, k, v) rawset(t, k, v * 2) end}) t.x = 5 t.x = 7 return t.x

local store = {} local t = setmetatable({}, {__newindex = store}) t.a = 1 return rawget(t, "a"), store.a

local t = setmetatable({}, {__call = function(self, a, b) return a + b end}) return t(1, 2)

local mt = {__eq = function() return true end} local a, b = setmetatable({}, mt), setmetatable({}, mt) return a == b, a ~= b, a == {}, rawequal(a, b)

local mt = {__lt = function(a, b) return a.v < b.v end} local a, b = setmetatable({v=1}, mt), setmetatable({v=2}, mt) return a < b, a > b, a <= b, a >= b

local mt = {__le = function(a, b) return "yes" end} local a, b = setmetatable({}, mt), setmetatable({}, mt) return a <= b, a >= b

return setmetatable({}, {}) < setmetatable({}, {})

return {} < 1

return {} + 1

return nil + 1

return 1 < "2"

return {} < {}

return tostring(setmetatable({}, {__tostring = function() return "me" end}))

return tostring(setmetatable({}, {__tostring = function() return 5 end}))

return getmetatable(setmetatable({}, {__metatable = "locked"})), pcall(setmetatable, setmetatable({}, {__metatable = 1}), {})

return getmetatable("x").__index == string, getmetatable({}), getmetatable(1)

setmetatable(1, {})

setmetatable({})

setmetatable({}, 1)

return #setmetatable({1,2}, {__len = function() return 99 end})

local a = setmetatable({}, {}) getmetatable(a).__index = a return a.x

local Account = {} Account.__index = Account function Account.new(b) return setmetatable({balance = b}, Account) end function Account:deposit(v) self.balance = self.balance + v end local a = Account.new(10) a:deposit(5) return a.balance

local t = setmetatable({}, {__index = 5}) return t.x

local t = setmetatable({}, {__call = 5}) t()

local t = setmetatable({}, {__index = string}) return t.format("%d", 3)

local t = setmetatable({}, {__mode = "k"}) t[1] = 2 return t[1]

local c = setmetatable({}, {__concat = function(a, b) return type(a) .. type(b) end}) return 1 .. 2 .. c, c .. 1 .. 2
