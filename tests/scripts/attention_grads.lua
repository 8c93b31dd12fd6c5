-- Attention and its gradients, with as many queries, keys and widths as asked for.
local nn = require "nn"
local attention = require "attention"

local o = options {T = 40, keys = 0, width = 16, value_width = 0,
    mask = {"causal", "none", "window", "absolute", "prefix", "longest", "first", "scaled",
        "reach", "documents"},
    drop = {"none", "some", "half", "product"},
    softmax = {"library", "maximum", "reciprocal", "after"},
    wanted = {"all", "queries", "keys", "loss"}}
local T, keys = o.T, o.keys > 0 and o.keys or o.T
local wide = o.value_width > 0 and o.value_width or o.width
local q, k = input("q", {2, 3, T, o.width}), input("k", {2, 3, keys, o.width})
local v, g = input("v", {2, 3, keys, wide}), input("g", {2, 3, T, wide})
local key, query = iota({T, keys}, 2), iota({T, keys}, 1)
local mask
if o.mask == "causal" then mask = le(key, query) end
if o.mask == "window" then mask = logical_and(le(key, query), lt(query - key, 50)) end
if o.mask == "absolute" then mask = lt(abs(query - key), 50) end
if o.mask == "prefix" then mask = logical_or(lt(key, 60), le(key, query)) end
if o.mask == "longest" then mask = lt(float(key) - maximum(float(query), 59), 1) end
if o.mask == "first" then -- a window, and the first keys
    mask = logical_and(le(key, query), logical_not(logical_and(ge(key, 9), lt(key, query - 30))))
end
if o.mask == "reach" then -- a window that is found at run time
    local reach = minimum(maximum(input("reach", {}, "i32"), 40), 50)
    mask = logical_and(le(key, query), gt(key + reach, query))
end
if o.mask == "documents" then -- the first tokens, then one for each token or two
    local id = minimum(maximum(input("document", {keys}, "i32"), 0), 1)
    id = maximum(iota({keys}, 1) + id, 150)
    mask = eq(id:reshape{1, keys}, id:reshape{keys, 1})
end
local drop
if o.drop == "some" then drop = function(p) return nn.dropout(p, 0.3, 7) end end
if o.drop == "half" then drop = function(p) return nn.dropout(p, 0.5, 8) end end
if o.drop == "product" then
    drop = function(p) return float(lt(random(9, p.shape), 0.75)) * p / 0.75 end
end
local y
if o.mask == "scaled" then -- masked first, then scaled
    local s = where(lt(query, key), -math.huge, matmul(q, k:transpose(-2, -1))) / 4
    y = matmul(nn.softmax(s), v)
elseif o.softmax == "library" then
    y = attention.attend(q, k, v, mask, drop)
else
    local s = matmul(q, k:transpose(-2, -1)) / 4
    if mask then s = where(mask, s, -math.huge) end
    local top = max(s, -1)
    local e = exp(s - (o.softmax == "maximum" and top or detach(top)))
    if o.softmax == "maximum" then y = matmul(e / sum(e, -1), v) end
    if o.softmax == "reciprocal" then y = matmul(e * (1 / sum(e, -1)), v) end
    if o.softmax == "after" then y = matmul(e, v) / sum(e, -1) end
end
local loss = sum(sum(sum(sum(y * g, -1), -2), -3), -4)
if o.wanted == "loss" then return {y = y, loss = loss} end
if o.wanted == "queries" then return {y = y, dq = grad(loss, {q})[1]} end
if o.wanted == "keys" then return {y = y, dk = grad(loss, {k})[1]} end
local d = grad(loss, {q, k, v})
return {y = y, dq = d[1], dk = d[2], dv = d[3]}
