-- ranks: a rank joins a bias behind a reshape with the product, where one process adds it later
local v = graph("bias_behind_reshape")
v[0] = const(1, {1, 1, 257}, "f32") -- f32[1, 1, 257]
v[1] = param("w5_s8", {257, 33}, {normal = 0.5}) -- f32[257, 33]
v[2] = expand(v[1], {1, 257, 33}) -- f32[1, 257, 33]
v[3] = matmul(v[0], v[2]) -- f32[1, 1, 33]
v[4] = param("w6_s2", {33}, {normal = 0.5}) -- f32[33]
v[5] = reshape(v[3], {1, 33}) -- f32[1, 33]
v[6] = expand(v[4], {1, 33}) -- f32[1, 33]
v[7] = add(v[5], v[6]) -- f32[1, 33]
v[8] = reshape(v[7], {1, 1, 33}) -- f32[1, 1, 33]
v[9] = reshape(v[8], {1, 1, 3, 11}) -- f32[1, 1, 3, 11]
return { ["hidden"] = v[9] }
