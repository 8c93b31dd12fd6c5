-- bounds: probabilities of a query that sees no key are NaN, and chosen away before the product
local q, k, v = input("q", {6, 8}), input("k", {2, 8}), input("v", {2, 8})
local bias = input("bias_mask", {6, 2})
local s = matmul(q, k:transpose(1, 2)) + bias
local e = exp(s - max(s, -1))
local p = e / sum(e, -1)
local none = eq(max(bias, -1), -math.huge)
return {y = matmul(where(none, 0, p), v)}
