-- gradient: attention whose scores are the transpose of a product
local q, k = input("q", {3, 8}), input("k", {2, 8})
local e = exp(matmul(k, q:transpose(1, 2)):transpose(1, 2))
local y = matmul(e / sum(e, -1), k)
local g = grad(sum(y:reshape{24}, 1):reshape{}, {q, k})
return {y = y, gq = g[1], gk = g[2]}
