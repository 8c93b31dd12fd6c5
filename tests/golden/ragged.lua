-- Texts of different lengths beside each other: a mask that is the same for all, attention, and the mean of each.
local nn, attention = require "nn", require "attention"
local b = length("b", 4)
local n = length("n", 24, b)
local x = input("x", {b, n, 32})
local heads = attention.split_heads(scope("in", nn.linear, x, 32), 2)
local bias = where(le(iota({1, 1, n, n}, 4), iota({1, 1, n, n}, 3)), const(0, {}), const(-1e30, {}))
local y = attention.merge_heads(attention.attend(heads, heads, heads, nil, nil, {bias = bias}))
return {mean = sum(x + scope("out", nn.linear, y, 32), 2) / float(n):reshape{b, 1, 1}}
