-- over: an output had the memory of a parameter that a later kernel reads as a part of a concat
local v = graph("fuzz_770401_8482")
v[0] = param("w1", {1, 1}, {normal = 0.5}) -- f32[1, 1]
v[1] = param("w2", {1, 1}, {normal = 0.5}) -- f32[1, 1]
v[2] = concat({v[0], v[1]}, 2) -- f32[1, 2]
v[3] = input("r1", {1, 2}, "f32") -- f32[1, 2]
v[4] = slice(v[3], {0, 0}, {1, 1}) -- f32[1, 1]
return { ["y3"] = v[2], ["yg01"] = v[4] }
