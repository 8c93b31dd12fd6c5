-- chunks: a sum of two products for each key, a row of the scores, reads the factors of both
local B, T, H, d = 1, 13, 2, 6
local C = H * d
local x = gather(param("e", {7, C}), input("ids", {B, T}, "i32"))
local function heads(z) return transpose(reshape(z, {B, T, H, d}), 2, 3) end
local function project(name, n) return matmul(x, param(name, {C, n})) end
local q, k, v = heads(project("q", C)), heads(project("k", C)), heads(project("v", C))
local function key(g) return expand(reshape(transpose(g, 2, 3), {B, H, T, 1}), {B, H, T, T}) end
local two = key(maximum(project("a", H), 0) * sin(project("b", H))) + key(project("c", H) * 0.5)
local s = where(le(iota({T, T}, 1), iota({T, T}, 2)), matmul(k, transpose(q, 3, 4)) + two, -3e38)
return {logits = transpose(matmul(transpose(exp(s), 3, 4), v), 2, 3)}
