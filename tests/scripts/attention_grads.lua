-- Attention and its gradients, with as many queries, keys and widths as asked for.
local attention = require "attention"

local o = options {T = 40, keys = 0, width = 16, value_width = 0, mask = {"causal", "none", "window"}}
local T, keys = o.T, o.keys > 0 and o.keys or o.T
local wide = o.value_width > 0 and o.value_width or o.width
local q, k = input("q", {2, 3, T, o.width}), input("k", {2, 3, keys, o.width})
local v, g = input("v", {2, 3, keys, wide}), input("g", {2, 3, T, wide})
local key, query = iota({T, keys}, 2), iota({T, keys}, 1)
local mask
if o.mask == "causal" then mask = le(key, query) end
if o.mask == "window" then mask = logical_and(le(key, query), lt(query - key, 50)) end
local y = attention.attend(q, k, v, mask)
local loss = sum(sum(sum(sum(y * g, -1), -2), -3), -4)
local d = grad(loss, {q, k, v})
return {y = y, dq = d[1], dk = d[2], dv = d[3]}
