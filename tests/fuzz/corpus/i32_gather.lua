-- bounds: rows of integers from an input and from what is computed
local t, i = input("t_edge", {5, 2}, "i32"), input("i_m1to5", {7}, "i32")
return {y = gather(t, i), z = gather(t - 1, i), row = gather(t:slice({0, 0}, {5, 1}):reshape{5}, i)}
