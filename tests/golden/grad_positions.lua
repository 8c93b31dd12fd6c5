-- Gradients of an attention do not move with a position of the run: no bound is put on their keys.
local nn = require "nn"
local T, S, d = 3, 16, 4
local at = input("at", {}, "i32")
local query, key = iota({T, S}, 1), iota({T, S}, 2)
local q, keys, values = param("q", {T, d}), param("keys", {S, d}), param("values", {S, d})
local cache = write(input("cache", {S, d}), input("rows", {T, d}), at)
local logits = where(le(key, query + at), matmul(q, keys:transpose(1, 2)), -math.huge)
local y = matmul(nn.softmax(logits), values)
local g = grad(nn.total(y * y), {q, keys, values})
return {cache = cache, q = g[1], keys = g[2], values = g[3]}
