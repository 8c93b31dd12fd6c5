-- Of a constant or an iota no lengths are kept that the op beside it has, so that it is one for all of them.
local n, m = length("n", 8), length("m", 6)
local x, y, i = input("x", {n, 4}), input("y", {8, 4}), input("i", {n, m}, "i32")
return {both = x * const(2, {n, 4}), alone = y * const(2, {n, 4}), index = i + iota({n, m}, 2),
    rows = i * iota({n, 6}, 1), columns = i - iota({8, m}, 1), free = sum(i + iota({8, 6}, 1), 2)}
