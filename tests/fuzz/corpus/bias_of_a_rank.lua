-- ranks: a rank reads a slice of a bias that is not a vector, and starts the sums of a product with it, too
local v = graph("model_71_29")
v[0] = input("x", {2, 7, 288}, "f32")
v[1] = param("w3_s8", {288, 288}, {normal = 0.5})
v[2] = expand(v[1], {2, 288, 288})
v[3] = matmul(v[0], v[2])
v[4] = param("w4_s2", {288}, {normal = 0.5})
v[5] = reshape(v[4], {1, 1, 288})
v[6] = expand(v[5], {2, 7, 288})
v[7] = add(v[3], v[6])
v[8] = reshape(v[7], {2, 7, 18, 16})
v[9] = permute(v[8], {1, 3, 2, 4})
v[10] = sum(v[9], 4)
return { ["y"] = v[10] }
