-- The gradient of what all heads subtract from their scores is minus the sum of theirs over the heads.
local nn = require "nn"
local B, H, T, d = 2, 3, 9, 4
local q, k, v = input("q", {B, H, T, d}), input("k", {B, H, T, d}), input("v", {B, H, T, d})
local table = param("table", {T, T})
local scores = matmul(q, k:transpose(3, 4)) * 0.35 - table
local p = nn.softmax(where(le(iota({T, T}, 2), iota({T, T}, 1)), scores, -math.huge))
local y = matmul(p, v)
local d = grad(sum(reshape(y * input("dy", {B, H, T, d}), {B * H * T * d}), 1), {table, q, k, v})
return {y = y, d_table = d[1], dq = d[2], dk = d[3], dv = d[4]}
