-- The body of GPT-2: blocks one after another, h.0, h.1, ...

local gpt2 = require "gpt2"
local transformer = require "transformer"

local o = options {
    B = 1, T = 128, -- batch, tokens
    n_layer = 12, n_embd = 768, n_head = 12,
    layer_norm_epsilon = 1e-5,
    layout = {"conv1d", "linear"}, -- the first is the default
    prefix = "",                   -- before every parameter's name, such as "transformer."
}

prefix(o.prefix)
local x = input("x", {o.B, o.T, o.n_embd})
local y = transformer.stack(x, "h", o.n_layer, gpt2.block, o)
return {y = y}
