-- A reduction of one number again and again is that number where it is so to the bit.
local x = input("x", {2, 1})
local i = iota({2, 1}, 1)
return {
    largest = x + max(const(3, {2, 4}), 2),
    nothing = x + sum(const(0, {2, 4}), 2),
    ids = i + max(const(7, {2, 4}, "i32"), 2),
    added = x + sum(const(3, {2, 4}), 2), -- is added up in the order of the lanes
}
