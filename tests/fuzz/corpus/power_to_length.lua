-- lengths: x x and x x x of one x that is broadcast up to a length: rules have to see the same node
local v = graph("fuzz_11_3870")
v[0] = input("r9", {1, 2, 1, 1}, "f32")
v[1] = expand(v[0], {1, 1, 2, 2, 1})
v[2] = mul(v[1], v[1])
v[3] = mul(v[2], v[1])
v[4] = const(0.044714999999999998, {1, 1, 2, 2, 1}, "f32")
v[5] = mul(v[3], v[4])
v[6] = add(v[1], v[5])
v[7] = tanh(v[6])
v[8] = const(1, {1, 1, 2, 2, 1}, "f32")
v[9] = add(v[7], v[8])
return { ["y0"] = v[9] }
