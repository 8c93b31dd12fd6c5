-- Two entries, of which one makes gradients: what pool.c runs.
local nn, attention = require "nn", require "attention"

local x, target = input("x", {2, 16, 64}), input("target", {2, 16, 64})
local function block(h)
    local n = scope("ln", nn.layer_norm, h, {eps = 1e-5})
    local a = scope("attn", attention.fused, n, {n_head = 4, project = nn.linear,
        mask = attention.causal_mask(16), qkv_name = "qkv", out_name = "out"})
    local m = scope("fc", nn.linear, nn.layer_norm(h + a, {eps = 1e-5}), 256)
    return h + a + scope("proj", nn.linear, nn.gelu(m), 64)
end
local y = block(x)
local loss = nn.mse_loss(y, target)
return {forward = {y = y}, backward = {loss = loss, dx = grad(loss, {x})[1]}}
