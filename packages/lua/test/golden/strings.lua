return "abc", 'd"e', [[long
string]], [==[a]]b]==], "tab\tnl\nnul\0x", "\65\066\0067", "\z", 'a\
b'

return #"abc", #"", #"a\0b", ("x"):rep(3), ("abc"):upper(), ("ABC"):lower(), ("abc"):len(), ("abc"):reverse()

return ("hello"):sub(2), ("hello"):sub(2,3), ("hello"):sub(-3), ("hello"):sub(-3,-2), ("hello"):sub(0), ("hello"):sub(10), ("hello"):sub(2,1), ("hello"):sub(-100, 2)

return ("abc"):byte(), ("abc"):byte(2), ("abc"):byte(1,3), ("abc"):byte(10), ("abc"):byte(-1), string.byte("")

return string.char(72, 105), string.char(), string.char(0, 255):byte(1, 2)

return string.char(256)

return string.char(-1)

return ("x"):rep(0), ("x"):rep(-1), ("ab"):rep(2.7)

return "a" .. "b" .. 1 .. 2.5, 1 .. ""

return "a" .. {}

return "a" .. nil

local x = nil return x .. "a"

return ("héllo"):upper(), ("\228"):upper():byte()

return ("abc"):find("b"), ("abc"):find("x"), ("abc"):find(""), ("abc"):find("", 10), ("abc"):find("c", -1), ("a.c"):find(".", 1, true), ("a+b"):find("+", 1, true)

return ("abc"):find("b", 3), ("abcabc"):find("c", 4), ("abc"):find("(b)(c)"), ("abc"):find("()b()")

return string.rep()

return string.rep("x", {})

return ("x").rep({}, 1)

return ("x"):bad()

return #5

return ("abc").foo, ("abc").len

return string.sub("abc")

return tostring(nil), tostring(true), tostring(12), tostring("x")

return tostring()

return "\300"

return "unfinished

return 'unfinished\

return [[unfinished

return [=x

return "a\qb"
