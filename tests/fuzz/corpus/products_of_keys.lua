-- chunks: of a product that one sum adds for each key its factors are kept, so that the sum rounds once as in the whole text
local B, T, H, d = 2, 11, 2, 8
local C = H * d
local x = gather(param("e", {7, C}), input("ids", {B, T}, "i32"))
local function heads(z) return transpose(reshape(z, {B, T, H, d}), 2, 3) end
local function project(name, n) return matmul(x, param(name, {C, n})) end
local q, k, v = heads(project("q", C)), heads(project("k", C)), heads(project("v", C))
local u, w, a, b = project("u", 1), project("w", 1), project("a", H), project("b", H)
local function key(g) return expand(reshape(g, {B, 1, 1, T}), {B, H, T, T}) end
local function query(g) return expand(reshape(g, {B, 1, T, 1}), {B, H, T, T}) end
local s = tanh(matmul(q, transpose(k, 3, 4))) + key(sin(u) * 0.37)
s = expand(reshape(transpose(sin(a) * exp(b), 2, 3), {B, H, 1, T}), {B, H, T, T}) + s * 0.7
s = s + (key(cos(u) * w) + query(cos(w) * u)) + key(tanh(u) * float(iota({B, T, 1}, 2)))
local g, all = heads(x * sin(x)), {B, H, T, T, d}
local t = expand(reshape(g, {B, H, 1, T, d}), all) + expand(reshape(q, {B, H, T, 1, d}), all)
s = s + reshape(tanh(sum(t, -1)), {B, H, T, T})
s = where(le(iota({T, T}, 2), iota({T, T}, 1)), s, -math.huge)
local e = exp(s - max(s, -1))
return {logits = transpose(matmul(e / sum(e, -1), v), 2, 3)}
