return struct.pack("b", 1), struct.pack("B", 255), struct.pack("h", -2), struct.pack(">h", 258), struct.pack("i4", 7), struct.pack(">I4", 7), struct.pack("l", 1), struct.pack("I3", 66051), struct.pack("<d", 1.5), struct.pack(">f", 1.5), struct.pack("I", 300)

return struct.pack("s", "abc"), struct.pack("c3", "abcdef"), struct.pack("c0", "xyz"), struct.pack("Bc0", 3, "xyz"), struct.pack("bxb", 1, 2), struct.pack("!4bi4", 1, 2), struct.pack("T", 5)

return struct.unpack("b", "\255"), struct.unpack("B", "\255"), struct.unpack("h", "\1\2"), struct.unpack(">h", "\1\2"), struct.unpack("i4", "\255\255\255\255"), struct.unpack("I4", "\255\255\255\255")

return struct.unpack("s", "abc\0def"), struct.unpack("c3", "abcdef"), struct.unpack("Bc0", "\2xyz"), struct.unpack("bb", "\1\2\3"), struct.unpack("b", "\1\2\3", 2), struct.unpack("<d", struct.pack("<d", -2.25)), struct.unpack(">f", struct.pack(">f", 0.5))

return struct.size("b"), struct.size("i4"), struct.size("!8bd"), struct.size("bhl"), struct.size("c10"), struct.size("!bi"), struct.size("!4 b d")

return struct.size("s")

return struct.size("c0")

return struct.pack("z", 1)

return struct.pack("i33", 1)

return struct.pack("!3i", 1)

return struct.pack("c5", "abc")

return struct.unpack("i4", "\1\2")

return struct.unpack("s", "abc")

return struct.unpack("c0", "abc")

return struct.unpack("b", "\1", 0)

return struct.unpack("b", "\1", 5)

return struct.pack("b")

return struct.pack("I8", 2^53), struct.unpack("I8", struct.pack("I8", 2^53)), struct.unpack("i8", struct.pack("i8", -5)), struct.pack("i2", -1), struct.pack("i16", -1), struct.pack("I1", 300)
