-- chunks: a product by a weight of one column, transposed, is one by that weight in the last token's graph too, and the weight keeps its format
local B, T, H, d = 2, 11, 2, 6
local C = H * d
local x = gather(param("e", {7, C}), input("ids", {B, T}, "i32"))
local function heads(z) return transpose(reshape(z, {B, T, H, d}), 2, 3) end
local function project(name, n) return matmul(x, param(name, {C, n})) end
local gate = transpose(matmul(x, transpose(param("g", {1, C}), 1, 2)), 2, 3)
local q = heads(project("q", C)) * expand(reshape(gate, {B, 1, T, 1}), {B, H, T, d})
local s = matmul(q, transpose(heads(project("k", C)), 3, 4))
s = where(le(iota({T, T}, 2), iota({T, T}, 1)), s, -math.huge)
local e = exp(s - max(s, -1))
local y = matmul(e / sum(e, -1), heads(project("v", C)))
return {logits = matmul(reshape(transpose(y, 2, 3), {B, T, C}), param("o", {C, 7}))}
