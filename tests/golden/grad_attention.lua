-- Attention's gradient: the sums over rows are of the heads' output, and each product stands
-- as it is stored.
local attention = require "attention"
local shape = {2, 3, 40, 16}
local q, k, v, g = input("q", shape), input("k", shape), input("v", shape), input("g", shape)
local y = attention.attend(q, k, v, attention.causal_mask(40))
local loss = sum(sum(sum(sum(y * g, -1), -2), -3), -4)
local d = grad(loss, {q, k, v})
return {y = y, dq = d[1], dk = d[2], dv = d[3]}
