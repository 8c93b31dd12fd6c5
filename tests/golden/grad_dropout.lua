-- Attention with dropout of its probabilities: one kernel forward and one backward, both of which
-- make the random numbers where they need them.
local nn = require "nn"
local attention = require "attention"
local x = input("x", {2, 10, 24})
local q, k, v = x, tanh(x), x * x
local heads = {}
for i, t in ipairs{q, k, v} do heads[i] = attention.split_heads(t, 3) end
local y = attention.attend(heads[1], heads[2], heads[3], attention.causal_mask(10),
    function(p) return nn.dropout(p, 0.1, 5) end)
return {y = y, d = grad(nn.total(y * y), {x})[1]}
