-- States that rows of their own are written over: these are read elsewhere than where they go, and the next
-- value is made apart.
local at = input("at", {}, "i32")
local s, t = state("s", {8, 4}), state("t", {8, 4})
replace(s, write(s, narrow(s, 1, 0, 2) * 2, at))
replace(t, write(t, t * 2, at))
return {y = s + t}
