-- A block of GPT-2: pre-norm, causal attention with fused QKV, tanh GELU.
-- Parameter names and layout are Hugging Face's (GPT2Block, Conv1D weights [in, out]).

local gpt2 = require "gpt2"

local o = options {
    B = 1, T = 128, -- batch, tokens
    n_embd = 768, n_head = 12,
    layer_norm_epsilon = 1e-5,
    layout = {"conv1d", "linear"}, -- the first is the default
    prefix = "",                   -- before every parameter's name, such as "h.0."
}

prefix(o.prefix)
local x = input("x", {o.B, o.T, o.n_embd})
local y = gpt2.block(x, o)
return {y = y}
