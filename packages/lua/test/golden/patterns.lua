return ("hello world"):match("o w"), ("hello"):match("l+"), ("key = value"):match("^(%w+)%s*=%s*(%w+)$"), ("abc"):match("^b"), ("2024-01-02"):match("(%d+)-(%d+)-(%d+)")

return ("hello"):gsub("l", "L"), ("hello"):gsub("l", "L", 1), ("hello"):gsub("", "-"), ("abc"):gsub("%w", "%0%0"), ("abc"):gsub("(a)(b)", "%2%1")

return ("hello world"):gsub("o", {o="0"}), ("hello"):gsub("l", function(c) return c:upper() end), ("hello"):gsub(".", {h=1, e=false}), ("abc"):gsub("b", function() end)

return ("x = 1, y = 2"):gsub("(%w+) = (%w+)", "%2 = %1"), ("abc"):gsub("^a", "x"), ("aaa"):gsub("^a", "x"), ("abc"):gsub("$", "!")

return ("f(a(b)c)d"):match("%b()"), ("[[x]]"):match("%b[]"), ("THE (quick) fox"):find("%((%a+)%)"), ("THE (quick) fox"):gsub("%f[%a]%a+", "w")

return ("abc123"):match("%a+"), ("abc123"):match("%d+"), ("a b"):match("%s"), ("a,b"):match("%p"), ("aB"):match("%u"), ("aB"):match("%l"), ("a1_"):match("[%w_]+"), ("0xFf"):match("%x+"), ("\1"):match("%c"), ("a\0b"):match("%z")

return ("abc"):match("[^a]"), ("a-b"):match("[a%-]+"), ("]"):match("[]]"), ("^"):match("[%^]"), ("a^"):match("[a^]+"), ("b-"):match("[a-]"), ("x"):match("[a-z]"), ("-"):match("[+--]")

return ("aaa"):match("a-"), ("aaa"):match("a-$"), ("aXb"):match("a(.-)b"), ("<a><b>"):match("<(.-)>"), ("ab"):match("a?b"), ("b"):match("a?b"), ("aab"):match("a*b")

return ("abcabc"):match("(abc)%1"), ("abab"):find("(ab)%1"), ("xyzxy"):match("(x)(y)z%1%2")

return ("()"):match("()"), ("abc"):match("()"), ("abc"):match("b()"), ("abc"):find("()", 2)

local t = {} for w in ("one two three"):gmatch("%a+") do t[#t+1] = w end return table.concat(t, "|")

local t = {} for k, v in ("a=1, b=2"):gmatch("(%w+)=(%w+)") do t[#t+1] = k .. v end return table.concat(t, "|")

local n = 0 for _ in ("abc"):gmatch("") do n = n + 1 end return n

local t = {} for p in ("abc"):gmatch("()") do t[#t+1] = p end return table.concat(t, ",")

return ("a"):match("[a")

return ("a"):match("%")

return ("a"):match("(a")

return ("a"):match("a)")

return ("a"):match("%1")

return ("a"):match("%b")

return ("a"):match("%f")

return ("a"):gsub("a", "%2")

return ("a"):gsub("a", "%1")

return ("a"):gsub("a", "%x")

return ("a"):gsub("a", {a={}})

return ("a"):gsub("a", true)

return ("a"):gsub("a")

return ("abc"):gsub("(b)()", "%2"), ("a b c"):gsub(" ", "%%"), ("abc"):gsub(".", {a="1", b=true})

return ("  trim  "):match("^%s*(.-)%s*$"), ("a,b,,c"):gsub(",", ";"), ("path/to/file.txt"):match("([^/]+)%.(%w+)$")

return string.find("abc", "b", nil, true), string.find("", ""), string.find("", "a"), string.match("abc", ".-"), string.match("abc", "a*?")

return ("a\0b"):gsub("%z", "0"), ("\255\254"):match("[\250-\255]+"):len(), ("äö"):len()

return ("abc"):match("((a)(b))"), ("abc"):match("(a)(x?)"), ("hello"):match(".-(l+)(.*)")

return ("x^2"):match("x^2"), ("a$b"):match("a$b"), ("a*"):match("a%*"), ("%d"):match("%%d"), ("*"):match("*"), ("a]"):match("a]")

return string.gsub("hello world", "%w+", "%0 %0", 1), string.gsub("abc", "", ""), string.gsub("", "", "x"), string.gsub("abc", "x*", "-")
