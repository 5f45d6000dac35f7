return 1, 1.5, -0.1, 100, 1e15, 1e14, 123456789012345, 1795973219813, 2^53, 2^63, 1e100, 1e-5, 0.1, 1/3

return 0/0, 1/0, -1/0

return 3.0, 10/2, 7%3, -7%3, 7%-3, -7%-3, 5.5%2, 2^10, 2^-1, 2^0.5, (-2)^3, (-8)^(1/3)

return 1e15, 1e16, 123456.789e3, 0x10, 0xff, 0xFFFFFFFF, .5, 5., 3e2, 3E+2, 3e-2

return "10"+5, "0x10"+0, " 10 "+1, "1e2"*1, 10 .. 20, "3" * "4", -"2"

return 10 == "10", "abc" < "abd", "a" < "B", "" < "a", "Z" < "a", "a\0b" < "a\0c"

return tonumber("10"), tonumber(""), tonumber(" "), tonumber("1 2"), tonumber("0x"), tonumber("0x1p4"), tonumber("1e"), tonumber("1e1"), tonumber("  12  "), tonumber("1."), tonumber(".5"), tonumber(".")

return tonumber("ff", 16), tonumber("zz", 36), tonumber("8", 8), tonumber("777", 8), tonumber("1010", 2), tonumber("  11  ", 2), tonumber("0xff", 16), tonumber("-ff", 16)

return tonumber(nil)

return tonumber()

return tonumber({}), tonumber(true), tonumber("abc"), tonumber("1a")

return tonumber("10", 99)

return math.floor(3.7), math.floor(-3.7), math.ceil(3.2), math.ceil(-3.2), math.abs(-4), math.fmod(7,3), math.fmod(-7,3), math.modf(3.7)

return math.modf(-3.7), math.modf(5), math.modf(1/0), math.sqrt(2), math.huge, -math.huge, math.pi

return math.max(1,5,3), math.min(4,2,8), math.max(5, "7"), math.max("10", 9)

return math.max()

return math.pow(2, 8), math.pow(2, 0.5), math.pow(10, -3), math.exp(1), math.exp(0), math.exp(-1), math.log(10), math.log(2), math.log10(1000), math.log10(2), math.log(0)

return math.sin(1), math.cos(1), math.tan(1), math.sin(100), math.cos(100), math.asin(0.5), math.acos(0.5), math.atan(0.5), math.atan(5), math.atan2(1,2), math.atan2(-1,-2)

return math.sinh(1), math.cosh(1), math.tanh(1), math.sinh(0.1), math.tanh(0.01), math.exp(10), math.exp(100), math.exp(-100), math.log(1e100), math.log(1.5), math.pow(1.5, 2.5), math.pow(10, 15), math.pow(10,-15), 1.1^100, 7^0.3

return math.frexp(8), math.frexp(0.3), math.frexp(-5), math.ldexp(0.5, 4), math.deg(math.pi), math.rad(180)

return string.format("%d", 3.7), string.format("%d", -3.7), string.format("%5d|%-5d|%05d|%+d|% d", 42, 42, 42, 42, 42)

return string.format("%.3f", 1/3), string.format("%10.2f|%-10.2f|%010.2f", 3.14159, 3.14159, -3.14159), string.format("%e", 12345.678), string.format("%.0e", 15000), string.format("%g", 1e20), string.format("%g", 0.0001), string.format("%g", 0.00001), string.format("%g", 100000), string.format("%g", 1000000)

return string.format("%.0f", 0.5), string.format("%.0f", 1.5), string.format("%.0f", 2.5), string.format("%.2f", 2.675), string.format("%.1f", 0.25), string.format("%.1f", 0.35), string.format("%.14g", 12345678901234.5), string.format("%.3g", 2.5), string.format("%.1g", 2.5), string.format("%.1g", 3.5)

return 12345678901234.5, 1234567890123.25, 0.5, 2.5e-7, 123456789.123456789, 99999999999999.5, 999999999999995, 9999999999999950

return string.format("%x %X %o %u", 255, 255, 8, 3), string.format("%#x %#o", 255, 8), string.format("%x", -1), string.format("%u", -1), string.format("%5.3d|%.0d|", 5, 0)

return string.format("%.20f", 0.1), string.format("%.99f", 1/3), string.format("%.17g", 0.1), string.format("%.17g", 1e17), string.format("%.17g", 5), string.format("%#.3g", 1), string.format("%g", 0), string.format("%e", 0), string.format("%f", 1e22)

return string.format("%5s|%-5s|%.2s|%5.1s|", "ab", "ab", "abcdef", "xyz"), string.format("%c%c%c", 76, 117, 97), string.format("%q", 'a "quoted"\n\\ line\0\r'), string.format("%%"), string.format("%s %s", 1, 2.5)

return string.format("%g %g %g", 1/0, -1/0, 0/0), string.format("%5.1f|%05f", 1/0, 1/0), string.format("%d", "10"), string.format("%i", 5)

return string.format("%d", "x")

return string.format("%y", 1)

return string.format("%d")

return string.format("%s")

return string.format("%123d", 1)

return string.format("%s", nil)

return string.format("%5c|%-3c|", 65, 66), string.format("%+.3e", 1.5), string.format("% .2f", 2), string.format("%G", 1e-10), string.format("%E", 1.5)

return 1 < 2, 1 <= 1, 2 > 1, 2 >= 3, 1 ~= 1, 1 == 1.0, not nil, not 0, nil == false

return -0, 0 * -1, tostring(0 * -1), 1/(0*-1)

return 2^31, 2^32, -2^31, 2^1023, 2^1024, 2^-1074, 2^-1075, 5e-324, 1.7976931348623157e308

return 1e308 * 10, -1e308 * 10, 5 % math.huge, -5 % math.huge, 5 % 0, 0 % 5

local s = 0 for i = 1, 10 do s = s + i end return s

local t = {} for i = 10, 1, -3 do t[#t+1] = i end return table.concat(t, ",")

local t = {} for i = 0, 1, 0.25 do t[#t+1] = i end return table.concat(t, ",")

for i = 1, "x" do end

for i = "a", 2 do end

for i = 1, 2, {} do end

local n = 0 for i = "1", "3" do n = n + i end return n

return math.fmod()

return math.pow({}, {})

return table.concat(nil, {})

return math.atan2(1)
