-- chunks: a table that a product gathers its rows from is kept in the wanted format, as any other
local T = 4
local x = gather(param("e", {4, 32}), input("ids", {1, T}, "i32"))
local q = matmul(x, param("q", {32, 32}))
local k = matmul(x, param("k", {32, 32}))
local s = where(le(iota({T, T}, 2), iota({T, T}, 1)), matmul(q, transpose(k, 2, 3)), -math.huge)
local e = exp(s - max(s, -1))
return {logits = matmul(e / sum(e, -1), k)}
