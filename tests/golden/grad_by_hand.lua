-- The gradient of attention as a script writes it, without grad: rules that are exact for finite
-- values alone do not apply, so it is not fused, and it computes what the script says.
local attention = require "attention"
local nn = require "nn"
local shape = {2, 3, 40, 16}
local q, k, v, g = input("q", shape), input("k", shape), input("v", shape), input("g", shape)
local p = nn.softmax(where(attention.causal_mask(40), (q:matmul(k:transpose(-2, -1))) * 0.25, -math.huge))
local y = p:matmul(v)
local dp = g:matmul(v:transpose(-2, -1))
local ds = p * (dp - sum(dp * p, -1, true)) * 0.25
return {y = y, dq = ds:matmul(k), dk = ds:transpose(-2, -1):matmul(q), dv = p:transpose(-2, -1):matmul(g)}
