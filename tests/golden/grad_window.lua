-- Gradients of attention to a window, with a bias that grows with the distance, and heads of
-- which values are wider than keys.
local nn = require "nn"
local q, k = input("q", {3, 140, 6}), input("k", {3, 140, 6})
local v, g = input("v", {3, 140, 10}), input("g", {3, 140, 10})
local key, query = iota({140, 140}, 2), iota({140, 140}, 1)
local s = matmul(q, k:transpose(-2, -1)) * 0.4 - float(query - key) * 0.1
s = where(logical_and(le(key, query), lt(query - key, 20)), s, -math.huge)
local y = matmul(nn.softmax(s), v)
local loss = sum(sum(sum(y * g, -1), -2), -3)
local d = grad(loss, {q, k, v})
return {y = y, dq = d[1], dk = d[2], dv = d[3]}
