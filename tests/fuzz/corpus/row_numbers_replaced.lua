-- states: a state of row numbers is replaced by the elements that it chose
-- run: run: refused: bug: after schedule, step 1: it reads buffer 1, where buffer 2 is written over it
local v = graph("row_numbers_replaced")
v[0] = const(1, {1, 2, 1}, "f32") -- f32[1, 2, 1]
v[1] = state("s9_0to0", {1, 2, 1}, "i32") -- i32[1, 2, 1]
v[2] = take(v[0], v[1], 1) -- f32[1, 2, 1]
v[3] = int(v[2]) -- i32[1, 2, 1]
replace(v[1], v[3])
return { ["y0"] = v[3] }
