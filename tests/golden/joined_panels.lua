-- Weights that a concat joins under a transpose, or of which a slice takes some, are packed as panels at load.
local x = input("x", {5, 12})
local function w(name, rows) return param(name, {rows, 12}, {normal = 1}) end
local gate = matmul(x, transpose(concat({w("gate", 40), w("up", 33)}, 1), 1, 2))
local three = concat({w("a", 40), transpose(param("b", {12, 20}, {normal = 1}), 1, 2), w("c", 50)}, 1)
local some = matmul(x * x, transpose(slice(three, {45, 0}, {50, 12}), 1, 2))
return {gate = gate, some = some}
