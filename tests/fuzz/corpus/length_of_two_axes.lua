-- lengths: two outer loops over one length had counters of one name, the inner of which hid the outer one
local v = graph("fuzz_length_of_two_axes")
v[0] = input("x0", {3, 3, 5, 5}, "f32")
v[1] = permute(v[0], {2, 1, 3, 4})
v[2] = mul(v[0], v[1])
v[3] = exp(v[2])
return { ["y0"] = v[3] }
