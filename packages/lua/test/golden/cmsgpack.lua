return cmsgpack.pack(1), cmsgpack.pack(-1), cmsgpack.pack(127), cmsgpack.pack(128), cmsgpack.pack(255), cmsgpack.pack(256), cmsgpack.pack(65535), cmsgpack.pack(65536), cmsgpack.pack(2^32), cmsgpack.pack(2^53)

return cmsgpack.pack(-32), cmsgpack.pack(-33), cmsgpack.pack(-128), cmsgpack.pack(-129), cmsgpack.pack(-32769), cmsgpack.pack(-2^31-1), cmsgpack.pack(0)

return cmsgpack.pack(1.5), cmsgpack.pack(0.1), cmsgpack.pack(1e300), cmsgpack.pack(1/0), cmsgpack.pack(2^63), cmsgpack.pack(2^64), cmsgpack.pack(-2^63)

return cmsgpack.pack("abc"), cmsgpack.pack(""), cmsgpack.pack(("x"):rep(31)), cmsgpack.pack(("x"):rep(32)), cmsgpack.pack(("x"):rep(300)):sub(1, 4), cmsgpack.pack(("x"):rep(70000)):sub(1, 6)

return cmsgpack.pack(true), cmsgpack.pack(false), cmsgpack.pack(nil), cmsgpack.pack(tostring), cmsgpack.pack(1, "a", nil, true)

return cmsgpack.pack({}), cmsgpack.pack({1,2,3}), cmsgpack.pack({a=1}), cmsgpack.pack({1,nil,3}), cmsgpack.pack({[2]=1}), cmsgpack.pack({{}, {1}})

local t = {} for i = 1, 20 do t[i] = i end return cmsgpack.pack(t)

local t = {} for i = 1, 20 do t = {t} end return cmsgpack.pack(t)

return cmsgpack.pack()

return cmsgpack.unpack("\1\2\3"), cmsgpack.unpack(cmsgpack.pack(1, "a", {1, 2}, true, nil, 1.5, -5, 1e10))

return cmsgpack.unpack(cmsgpack.pack({a={b={1,2,{c="d"}}}})).a.b[3].c

return cmsgpack.unpack("")

return cmsgpack.unpack("\193")

return cmsgpack.unpack("\217")

return cmsgpack.unpack("\220\0")

return cmsgpack.unpack("\170abc")

return cmsgpack.unpack(5)

return cmsgpack.unpack({})

return cmsgpack.unpack_one(cmsgpack.pack(1, 2, 3)), cmsgpack.unpack_one(cmsgpack.pack(1, 2, 3), 1), cmsgpack.unpack_one(cmsgpack.pack(1, 2, 3), 2)

return cmsgpack.unpack_limit(cmsgpack.pack(1, 2, 3), 2), cmsgpack.unpack_limit(cmsgpack.pack(1, 2, 3), 2, 1), cmsgpack.unpack_limit(cmsgpack.pack(1, 2, 3), 0)

return cmsgpack.unpack_one("\1", 5)

return cmsgpack.unpack_one("\1", -1)

return cmsgpack.unpack_limit("\1", -1)

return cmsgpack.unpack("\196\3abc"), cmsgpack.unpack("\204\200"), cmsgpack.unpack("\211\255\255\255\255\255\255\255\255"), cmsgpack.unpack("\207\255\255\255\255\255\255\255\255")

return cmsgpack._NAME, cmsgpack._VERSION, cmsgpack._COPYRIGHT, cmsgpack._DESCRIPTION
