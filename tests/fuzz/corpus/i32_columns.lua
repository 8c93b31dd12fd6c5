-- bounds: reductions of integers over each axis, also past 2 to the power of 24
local x, y = input("x_0to9", {4, 3, 2}, "i32"), input("y_edge", {4, 3, 2}, "i32")
return {m1 = max(x, 1), m2 = max(x, 2), m3 = max(x, 3), s1 = sum(x, 1), s2 = sum(x, 2),
        s3 = sum(x, 3), big1 = max(y, 1), big2 = sum(y, 2), big3 = sum(y, 3)}
