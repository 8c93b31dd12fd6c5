-- bounds: x + 0.5 may be rounded to a whole number, and a negative number's power is not NaN then
local v = graph("fuzz_31_1647")
v[0] = input("x0_odd", {1, 5, 1}, "f32")
v[1] = const(0.5, {1, 5, 1}, "f32")
v[2] = add(v[0], v[1])
v[3] = pow(v[0], v[2])
return { ["y0"] = v[3] }
