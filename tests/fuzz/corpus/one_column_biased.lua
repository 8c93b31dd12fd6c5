-- chunks: a product of one column begins with its bias, as it does where it is joined with wider ones
local T, d = 3, 3
local x = gather(param("e", {4, d}), input("ids", {1, T}, "i32"))
local q = matmul(x, param("q", {d, 2})) + param("qb", {2})
local k = matmul(x, param("k", {d, 1})) + param("kb", {1})
local s = matmul(expand(sum(q, 3), {1, T, 1}), transpose(k, 2, 3))
s = where(le(iota({T, T}, 2), iota({T, T}, 1)), s, -math.huge)
local e = exp(s - max(s, -1))
return {logits = matmul(e / sum(e, -1), k)}
