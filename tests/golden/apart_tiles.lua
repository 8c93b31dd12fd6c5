-- Which elementwise kernels are joined, and near misses that are not.
local function pair(name, shape)
    return input(name, shape), input(name .. "2", shape)
end
local out = {}

-- Joined: an array that both read; what the first stores and the second reads at the same place, also
-- if a product reads it later; numbers of a row; the same op with other numbers.
local a, a2 = pair("a", {6, 8})
out.a1, out.a2 = a + 1, a * a2
local b, b2 = pair("b", {6, 9})
out.b1 = tanh(b)
out.b2 = out.b1 * b2 + 1
out.b3 = matmul(out.b1, input("b3", {9, 4}))
local c = input("c", {6, 10})
out.c1 = sum(c, 2, true)
out.c2 = sqrt(sum(c * c, 2, true))
out.c3 = max(c, 2, true)
local j = input("j", {6, 17})
out.j1, out.j2 = j * 2, j * 3

-- Other loops: fewer rows.
local d = input("d", {6, 11})
out.d1, out.d2 = d + 1, exp(d:slice({0, 0}, {5, 11}))
-- The second reads the first transposed.
local e, e2 = pair("e", {7, 7})
out.e1 = tanh(e)
out.e2 = out.e1:permute{2, 1} * e2 + 1
-- The second reads the array a row further on.
local f, f2 = pair("f", {8, 13})
out.f1, out.f2 = tanh(f:slice({0, 0}, {7, 13})), f:slice({1, 0}, {7, 13}) * f2:slice({1, 0}, {7, 13})
-- They share a row that is repeated, no array.
local g, g2, row = input("g", {6, 14}), input("g2", {6, 14}), input("row", {14})
out.g1, out.g2 = g + row, exp(g2) * row
-- The same steps: they share a function.
local h, h2 = pair("h", {6, 15})
out.h1, out.h2 = exp(h) + h2, exp(h2) + h
-- The first is no output but read by two products, so it lies in the arena.
local i, i2 = pair("i", {6, 16})
local root = exp(sqrt(i) * i2) - tanh(i)
out.i1 = i + 1
out.i2 = matmul(root, input("i3", {16, 3}))
out.i3 = matmul(input("i4", {3, 6}), root)
return out
