-- Where queries, keys and values are parts of one projection, their gradients go where its
-- gradient has them: no copies, and the masks' bounds hold backwards, too.
local attention = require "attention"
local nn = require "nn"
local x, g = input("x", {2, 150, 12}), input("g", {2, 150, 12})
local y = attention.fused(x, {
    n_head = 3, mask = attention.causal_mask(150), project = nn.linear, bias = false,
    qkv_name = "qkv", out_name = "out",
})
local loss = sum(sum(sum(y * g, -1), -2), -3)
return {y = y, dx = grad(loss, {x})[1]}
