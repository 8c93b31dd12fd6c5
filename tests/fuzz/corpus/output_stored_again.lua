-- arena: a kernel that runs again stores an output once more, which a kernel read between both
local v = graph("fuzz_770601_5840")
v[0] = input("r115", {1, 1, 2}, "f32") -- f32[1, 1, 2]
v[1] = const(1, {1, 2, 1}, "f32") -- f32[1, 2, 1]
at("random.lua", 2, "s1")
v[2] = matmul(v[0], v[1]) -- f32[1, 1, 1]
v[3] = input("r158", {1, 1, 1}, "f32") -- f32[1, 1, 1]
v[4] = input("r108", {1, 1, 1}, "f32") -- f32[1, 1, 1]
v[5] = matmul(v[2], v[4]) -- f32[1, 1, 1]
v[6] = const(-math.huge, {1, 1, 1}, "f32") -- f32[1, 1, 1]
v[7] = input("r105", {1, 1, 1}, "i32") -- i32[1, 1, 1]
v[8] = const(1, {1, 1, 1}, "i32") -- i32[1, 1, 1]
v[9] = ge(v[8], v[7]) -- bool[1, 1, 1]
v[10] = where(v[9], v[6], v[5]) -- f32[1, 1, 1]
v[11] = matmul(v[10], v[3]) -- f32[1, 1, 1]
at("random.lua", 3, "s2")
v[12] = const(1, {1, 1, 1}, "f32") -- f32[1, 1, 1]
at("random.lua", 2, "s1", true)
v[13] = const(1, {1, 1, 1}, "f32") -- f32[1, 1, 1]
v[14] = const(1, {1, 1, 2}, "f32") -- f32[1, 1, 2]
v[15] = matmul(v[13], v[14]) -- f32[1, 1, 2]
v[16] = matmul(v[12], v[3]) -- f32[1, 1, 1]
v[17] = permute(v[10], {1, 3, 2}) -- f32[1, 1, 1]
v[18] = matmul(v[17], v[12]) -- f32[1, 1, 1]
v[19] = const(1, {1, 1, 1}, "f32") -- f32[1, 1, 1]
v[20] = add(v[16], v[19]) -- f32[1, 1, 1]
v[21] = matmul(v[20], v[4]) -- f32[1, 1, 1]
v[22] = const(1, {1, 1, 2}, "f32") -- f32[1, 1, 2]
v[23] = matmul(v[18], v[22]) -- f32[1, 1, 2]
v[24] = add(v[15], v[23]) -- f32[1, 1, 2]
v[25] = reshape(v[21], {1, 1}) -- f32[1, 1]
v[26] = const(1, {2, 1}, "f32") -- f32[2, 1]
v[27] = matmul(v[26], v[25]) -- f32[2, 1]
v[28] = const(0, {2, 1}, "f32") -- f32[2, 1]
v[29] = concat({v[27], v[28]}, 2) -- f32[2, 2]
tap("gradient:w1_s1", v[29])
return { ["y0"] = v[11], ["yg00"] = v[24], ["yg01"] = v[29], ["yg02"] = v[18] }
