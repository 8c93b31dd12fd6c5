-- What the language has besides layers, in two long rows: one with a gradient, one of integers.
local x, z = input("x", {2, 5, 6}), input("z", {2, 5, 6})
local i, at = input("i", {2, 5, 6}, "i32"), input("at", {2, 3, 6}, "i32")
local w = param("w", {6})
local table_of_sines = {}
for k = 1, 6 do table_of_sines[k] = math.sin(k) end

local function row(list)
    for k = 1, #list do list[k] = list[k]:reshape{-1} end
    return concat(list, 1)
end

return {
    y = row{
        sin(8 * x), cos(8 * x), floor(3 * x), round(3 * x), pow(abs(z) + 0.5, x), abs(w) ^ 2.5,
        1.5 ^ x, x % z, floor_divide(x, z), cumsum(x, 2), cumsum(x, 3), cumsum(x * z, 1),
        gather(x, at, 2), scatter(x, z:slice({0, 0}, {2, 3}), at, 2),
        sum(x, {1, 3}), max(x * z, {2, 3}), sum(x), matmul(x, w), matmul(w, transpose(x, 2, 3)),
        x * const(table_of_sines), x:slice({0, -2}, {-1, 1}), x:narrow(2, 1, 3),
    },
    integers = row{
        int(20 * x), floor_divide(i, 7), i % 7, floor_divide(i, -5), i % -5, cumsum(i, 2),
        cumsum(i, 3), argmax(x, 2), argmax(x, 3), argmax(i), gather(i, at, 2),
        scatter(i, at * 3, at, 2), sum(i, {2, 3}), max(i), i + const({1, -2, 3, -4, 5, -6}, "i32"),
    },
}
