-- Attention with linear biases by distance, from indices alone: still one kernel.
local q, k, v = input("q", {2, 3, 20, 8}), input("k", {2, 3, 20, 8}), input("v", {2, 3, 20, 8})
local query, key = iota({20, 20}, 1), iota({20, 20}, 2)
local slope = param("slope", {3, 1, 1})
local s = matmul(q, k:transpose(3, 4)) * 8 ^ -0.5 - slope * float(query - key)
s = where(le(key, query), s, -math.huge)
local e = exp(s - max(s, -1))
return {y = matmul(e / sum(e, -1), v)}
