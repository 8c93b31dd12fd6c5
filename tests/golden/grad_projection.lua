-- The heads' output side by side is stored once, for the projection, for the gradient of its
-- weight, and for the gradient of attention.
local attention = require "attention"
local nn = require "nn"
local x, g = input("x", {2, 20, 12}), input("g", {2, 20, 12})
local heads = attention.split_heads(x, 3)
local y = attention.merge_heads(attention.attend(heads, heads, heads))
local w = param("w", {12, 12})
local loss = sum(sum(sum(matmul(y, w) * g, -1), -2), -3)
local d = grad(loss, {w, x})
return {loss = loss, dw = d[1], dx = d[2]}
