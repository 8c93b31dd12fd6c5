-- Tables are data of the program: read in place, in a loop over layers by their number.
local x = input("x", {4, 3})
local signs = const({{1, -1, 1}, {0.1, 1 / 3, -0.0}}) -- rows of a table
local same = const({2, 2, 2})                         -- a constant
local sides = const({true, false, true}, nil, "bool")
local picks = const({1, 0, -2147483648, 1}, {4}, "i32")
local y = x * gather(signs, picks) * same
for layer = 1, 6 do
    local scales = {}
    for i = 1, 3 do scales[i] = layer + i end
    y = scope("h." .. layer, function()
        return matmul(y, param("w", {3, 3}, {normal = 1})) * const(scales)
    end)
end
return {y = where(sides, y, const({math.huge, 1, 0 / 0})), t = signs}
