-- Weights that a concat joins beside or below each other, under a transpose too, or of which a slice takes
-- some, are packed as panels at load.
local x = input("x", {5, 12})
local function w(name, rows) return param(name, {rows, 12}, {normal = 1}) end
local gate = matmul(x, transpose(concat({w("gate", 40), w("up", 33)}, 1), 1, 2))
local three = concat({w("a", 40), transpose(param("b", {12, 20}, {normal = 1}), 1, 2), w("c", 50)}, 1)
local some = matmul(x * x, transpose(slice(three, {45, 0}, {50, 12}), 1, 2))
local function v(name, columns) return param(name, {6, columns}, {normal = 1}) end
local below = matmul(x, transpose(concat({v("left", 7), v("right", 5)}, 2), 1, 2))
return {gate = gate, some = some, below = below}
