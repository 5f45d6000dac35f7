local t = {1,2,3; x=4, [10]=5, ["y z"]=6} return #t, t.x, t[10], t["y z"], t[1], t.nope

local t = {} t[1]=1 t[2]=2 t[3]=3 t[3]=nil return #t, t[2]

return #{1,2,nil}, #{nil}, #{nil,nil,3}, #{1,nil,3}, #{n=1}, #{[1]="a",[2]="b"}, #{[2]='x','a'}

local t = {5,2,8,1} table.sort(t) return table.concat(t, ",")

local t = {5,2,8,1} table.sort(t, function(a,b) return a > b end) return table.concat(t, ",")

local t = {} for i = 1, 100 do t[i] = (i * 37) % 101 end table.sort(t) return table.concat(t, " ")

local t = {} for i = 1, 60 do t[i] = {k = (i * 7) % 5, n = i} end table.sort(t, function(a, b) return a.k < b.k end) local s = {} for i, v in ipairs(t) do s[i] = v.n end return table.concat(s, " ")

local t = {3,1,2} table.sort(t, function(a, b) return true end)

local t = {} for i = 1, 50 do t[i] = i end return pcall(table.sort, t, function(a, b) return true end)

local t = {1, "x"} table.sort(t)

local t = {1, {}} table.sort(t)

local t = {"b","a","C"} table.sort(t) return table.concat(t)

local t = {1,2,3} table.insert(t, 4) table.insert(t, 1, 0) table.insert(t, 3, "x") return table.concat(t, ",")

local t = {1,2,3} return table.remove(t), table.remove(t, 1), #t, table.remove({}), table.remove(t, 5), t[1]

local t = {} table.insert(t, 5, "x") return t[5], #t

table.insert({}, 1, 2, 3)

table.insert({})

table.insert(nil, 1)

return table.concat({1,2,3}), table.concat({1,2,3}, ", "), table.concat({1,2,3}, "-", 2), table.concat({1,2,3}, "-", 2, 2), table.concat({}, "x"), table.concat({1,2}, 0)

return table.concat({1,{},3})

return table.concat({1,2}, ",", 1, 3)

return table.getn({1,2}), table.maxn({[5]=1, [2.5]=2}), unpack({1,2,3}), (unpack({1,2,3})), unpack({1,2,3}, 2), unpack({1,2}, 1, 3)

return select("#"), select("#", nil, nil), select(2, "a", "b", "c"), select(-1, "a", "b")

return select(0, 1)

return select(-5, 1)

return select("x")

local n = 0 for k, v in pairs({1,2,3,a=1}) do n = n + v end return n

local s = "" for i, v in ipairs({1,2,nil,4}) do s = s .. i .. v end return s

return next({}), next({10}), next({10}, 1), type(next)

return next({}, "nope")

return next()

return ipairs()

local t = {} t[nil] = 1

local t = {} t[0/0] = 1

local t = {} return t[nil], t[0/0]

return rawget({a=1}, "a"), rawequal("a", "a"), rawequal({}, {}), rawset({}, "k", 5).k

local t = {a=1,b=2,c=3} for k in pairs(t) do t[k] = nil end return next(t)

local t = {} for i = 1, 20 do t[i] = i end for k in pairs(t) do t[k] = nil end return next(t), #t

return type({}), type(nil), type(1), type("x"), type(print), type(type)

return type()

local t = {f = function(self, x) return x * 2 end} return t:f(4), t.f(nil, 5)

local t = {[1]=1,[1.5]=2,["1"]=3,[true]=4} return t[1], t[1.5], t["1"], t[true], t[false]

return table.foreach({5}, function(k, v) return v end), table.foreachi({1,2}, function(i, v) if i == 2 then return v end end)

table.setn({}, 1)

local a = {} a[1], a[2] = 1 return a[1], a[2]

local i, a = 1, {} i, a[i] = i + 1, 20 return i, a[1], a[2]

local a, b = 1, 2 a, b = b, a return a, b

return unpack({}, 1, 8000)

return select("#", unpack({}, 1, 7997))

local t = {(function() return 1, 2 end)(), (function() return 1, 2 end)()} return #t

local t = {((function() return 1, 2 end)())} return #t

local t = {} t[-0] = "z" return t[0]

local n = 0 local function f() n = n + 1 return n end local t = {f(), x = f(), f(), [f()] = "k", f()} return t[1], t.x, t[2], t[3], t[4]

local function f() return 1, 2 end local t = {f(), x = 1} return #t

local t = {[1] = "a", "b"} return t[1], #t

local t = {[2] = "y", [3] = "z", "x"} return #t, t[1], t[2], t[3]

return #{n = 1, (function() return 1, 2, 3 end)()}, #{(function() end)()}, #{nil, (function() end)()}
