return cjson.encode({1,2,3}), cjson.encode({}), cjson.encode({a=1}), cjson.encode("x"), cjson.encode(nil), cjson.encode(true), cjson.encode(cjson.null), cjson.encode({cjson.null, false})

return cjson.encode("a/b\\\"\b\f\n\r\t\1\127\200"), cjson.encode({["k/\n"] = 1}), cjson.encode({[1.5]="x"}), cjson.encode({[-1] = 1}), cjson.encode({[0]=1})

return cjson.encode(1.5), cjson.encode(1e15), cjson.encode(1/3), cjson.encode(100), cjson.encode(-0.1), cjson.encode(1e-7), cjson.encode(2^53)

return cjson.encode({1, nil, 3}), cjson.encode({[1]=1,[5]=5}), cjson.encode({[10]=1})

return cjson.encode({[11]=1})

return cjson.encode({[1]=1,[2]=2,[3]=3,[4]=4,[5]=5,[11]=1})

return cjson.encode(0/0)

return cjson.encode({1/0})

return cjson.encode(print or tostring)

return cjson.encode({tostring})

return cjson.encode({[true]=1})

return cjson.encode()

return cjson.encode(1, 2)

local t = {} for i = 1, 999 do t = {t} end return #cjson.encode(t)

local t = {} for i = 1, 1000 do t = {t} end return cjson.encode(t)

local t = {} t[1] = t return cjson.encode(t)

return unpack(cjson.decode('[1,2.5,-3,1e3,"x",true,false,null]'))

local t = cjson.decode('{"a":1,"b":{"c":[1,2]},"d":null,"":"e"}') return t.a, t.b.c[2], t.d == cjson.null, type(t.d), t[""]

return cjson.decode("1"), cjson.decode('"s"'), cjson.decode("null") == cjson.null, cjson.decode(" [ ] ")[1], cjson.decode("{}").x, cjson.decode("\t\n\r true ")

return cjson.decode('"\\u0041\\u00e9\\u20ac\\ud83d\\ude00\\n\\t\\/\\\\\\"\\b\\f\\r\\u0000"')

return cjson.decode("0x10"), cjson.decode("01"), cjson.decode("-0"), cjson.decode("1."), cjson.decode("nan") ~= cjson.decode("NaN"), cjson.decode("inf"), cjson.decode("-Infinity"), cjson.decode("1e5")

return cjson.decode("")

return cjson.decode("[1,2")

return cjson.decode("[1 2]")

return cjson.decode("[1,]")

return cjson.decode("{1:2}")

return cjson.decode('{"a" 1}')

return cjson.decode('{"a":1,}')

return cjson.decode('{"a":1 "b":2}')

return cjson.decode('{"a":}')

return cjson.decode("tru")

return cjson.decode("nul")

return cjson.decode("xyz")

return cjson.decode("[1] 2")

return cjson.decode('"abc')

return cjson.decode('"a\\x"')

return cjson.decode('"\\u12"')

return cjson.decode('"\\ud800"')

return cjson.decode('"\\ude00"')

return cjson.decode("-")

return cjson.decode("-x")

return cjson.decode("+1")

return cjson.decode(".5")

return cjson.decode("'a'")

return cjson.decode("[1}")

return cjson.decode("]")

return cjson.decode(":")

return cjson.decode(nil)

return cjson.decode({})

return cjson.decode(12)

return cjson.decode("1", 2)

return cjson.decode("\0\0")

return cjson.decode("[1]\0")

return #cjson.decode(("["):rep(1000) .. ("]"):rep(1000))

return cjson.decode(("["):rep(1001) .. ("]"):rep(1001))

return cjson.decode('["a\nb\1"]')[1], cjson.decode('"\200\255"')

return tostring(cjson.null), type(cjson.null), cjson._NAME, cjson._VERSION

return cjson.encode_sparse_array(), cjson.encode_max_depth(), cjson.decode_max_depth(), cjson.encode_number_precision(), cjson.encode_keep_buffer(), cjson.encode_invalid_numbers(), cjson.decode_invalid_numbers()

return cjson.encode(cjson.decode('{"a":[1,{"b":"c"}],"n":null}')) ~= nil, cjson.encode(cjson.decode('[[],{}]'))

return cjson.encode({1,2,x=3}) ~= "", cjson.encode({[1]="a",["1"]="b"}) ~= ""

return cjson.decode("[1,2,3]x")

return cjson.decode("truefalse")

return cjson.decode("123abc")
