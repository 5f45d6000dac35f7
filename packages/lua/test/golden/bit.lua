return bit.tobit(2^32), bit.tobit(2^31), bit.tobit(-1), bit.tobit(1.5), bit.tobit(2.5), bit.tobit(0.5), bit.tobit(2^40+3), bit.tobit(-2^31-1), bit.tobit("12")

return bit.band(0xff, 0x0f), bit.bor(1, 2, 4), bit.bxor(5, 1), bit.bnot(0), bit.bnot(5), bit.band(1), bit.bor(0x80000000, 0)

return bit.lshift(1, 31), bit.lshift(1, 32), bit.rshift(-1, 28), bit.arshift(-16, 2), bit.rol(0x12345678, 8), bit.ror(0x12345678, 8), bit.rol(1, 0), bit.lshift(3, -1)

return bit.bswap(0x12345678), bit.tohex(255), bit.tohex(255, 4), bit.tohex(-1, -8), bit.tohex(0xabc, -4), bit.tohex(1, 0), bit.tohex(1, 20)

return bit.band()

return bit.tobit("x")

return bit.bnot({})
