x = = 1

x 1

return return

if x then

if x then else elseif end

for i = 1 do end

for i = 1, 2, 3, 4 do end

for 1 = 2 do end

for i in do end

for i x do end

while true do

repeat

function f( end

function f(a,) end

function f(...,a) end

local function end

local 1 = 2

break

do break end

while true do break x = 1 end

return 1,

return 1 2

f(

f(1,

x = {1,2

x = {1 2}

x = {[1] 2}

x.y

x:y

x:y.z = 1

(x) = 1

f() = 1

a, f() = 1

1 = x

"x" = 1

goto label

::l::

x = 1 // 2

x = 1 & 2

x = ~1

x = a ? b

x = 3..2

x = 0x

x = 1e

x = 3x

x = "a

local x <const> = 1

return ... , ...

function f() return ... end

end

until x

a = b
(f)()

if x then
  y()
 
if a then
b()
else c()

-- comment only

--[[ long
comment ]] return 1

--[[ unfinished

--[==[ x ]] ]==] return 2

return 1; 

return;

; return 1

local a <close> = 1

x = function end

x = }

x = @

x = $y

!

return "\1\2" .. '\'' .. "\"" , [[
first newline skipped]]

return 1--[[x]]+2, 4 -- trailing

return 2^3^2, -2^2, not 1 == 2, 1 .. 2 .. 3, 2*3+4*5, (2+3)*4, 1+2 < 4 and 5 or 6, nil and 1, false or nil, 1 and 2, nil or 3

return 1 < 2 == true, "a".."b" == "ab", not nil == true, -3 % 5, -(3 % 5), 2 + 3 .. "x"

local and = 1

nil = 1

x = nil nil

local t = {f=1, g=2, 3, 4; 5,} return #t, t.f, t.g

local s = "x" return s:upper(), ("y"):upper(), #s

f{1} g"x" h[[y]]

return f"a".b

local function f(a) return a end return f"s", f{1}[1], f[[z]]

return (function(...) local a, b = ... return b, select('#', ...) end)(1, 2, 3)

return #(function(...) return {...} end)(1, nil, 3)

function t.a.b:c() end

function t:a.b() end

return function() end == nil

local a = 1; do local a = 2 end return a

local a = 1 local a = a + 1 return a

do local x = 5 end return x

repeat local x = 5 until x == 5 return x

local n = 0 repeat local done = n >= 3 n = n + 1 until done return n

local n = 0 while true do n = n + 1 if n > 5 then break end end return n

local function v(...) return arg and arg.n end return v(1, 2, 3)

local function v(...) local a = ... return arg end return v(1)

local t = {} for i = 1, 3 do t[i] = function() return i end end return t[1](), t[2](), t[3]()

local function counter() local n = 0 return function() n = n + 1 return n end end local a, b = counter(), counter() a() return a(), b()

local x = 1 local function get() return x end x = 2 return get()

local function f() return 1, 2, 3 end local a, b = f() return a, b, (f()), f(), f()

local function fact(n) return n <= 1 and 1 or n * fact(n - 1) end return fact(20)

local a = {} function a.b(x) return x end function a:c(x) return self == a, x end return a.b(1), a:c(2)

return ((1)), (("x")), ((nil))

return setfenv and getfenv and true, _VERSION, _G == getfenv(0), _G._G == _G

local function f() return y end setfenv(f, {y = 7}) return f(), getfenv(f).y

setfenv(1, {z = 3}) return z

local t = getfenv(1) t.newglobal = 4 return newglobal

x = 5 return x

return pcall(setfenv, print, {})

return load(function() return nil end), pcall(load, 5)

local parts = {"return ", "1 + ", "2"} local i = 0 return load(function() i = i + 1 return parts[i] end)()
