-- A concat of constants is a literal, along any axis, and a constant if they are equal; none is a kernel.
local x = input("x", {2, 3, 4})
local slopes = {}
for h = 1, 3 do slopes[h] = const(2 ^ (-8 * h / 3), {2, 1, 1}) end
local equal = concat({const(5, {2, 3, 1}, "i32"), const(5, {2, 3, 3}, "i32")}, 3)
return {y = x * concat(slopes, 2) + float(equal)}
