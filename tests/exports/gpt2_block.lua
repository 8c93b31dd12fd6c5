-- gpt2_block.onnx, by pytorch, opset 18
local nn = require "nn"
local attention = require "attention"
local masks = require "masks"

local x = input("x", {2, 6, 16})
local causal = masks.causal(6)
local ln_1 = scope("h.0.ln_1", nn.layer_norm, x, {eps = 1e-5})
local c_attn = scope("h.0.attn.c_attn", nn.conv1d, ln_1, 48)
local q = attention.split_heads(narrow(c_attn, 3, 0, 16), 2)
local k = attention.split_heads(narrow(c_attn, 3, 16, 16), 2)
local v = attention.split_heads(narrow(c_attn, 3, 32, 16), 2)
local merged = attention.merge_heads(attention.attend(q, k, v, causal))
local add = scope("h.0.attn.c_proj", nn.conv1d, merged, 16) + x
local ln_2 = scope("h.0.ln_2", nn.layer_norm, add, {eps = 1e-5})
local gelu = nn.gelu_tanh(scope("h.0.mlp.c_fc", nn.conv1d, ln_2, 64))
local y = add + scope("h.0.mlp.c_proj", nn.conv1d, gelu, 16)
return {
    y = y,
}
