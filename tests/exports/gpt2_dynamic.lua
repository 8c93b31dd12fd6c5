-- gpt2_dynamic.onnx, by pytorch, opset 17
local nn = require "nn"
local attention = require "attention"
local masks = require "masks"

local batch = length("batch", 4)
local seq = length("seq", 12)
local x = input("x", {batch, seq}, "i32")
local causal = masks.causal(seq)
local wte = scope("model.transformer.wte", nn.embedding, x, 24, 16)
local wpe = scope("model.transformer.wpe", nn.embedding, iota({1, seq}, 2), 16, 16)
local hidden = wte + wpe

local function h(x)
    local ln_1 = scope("ln_1", nn.layer_norm, x, {eps = 1e-5})
    local c_attn = scope("attn.c_attn", nn.conv1d, ln_1, 48)
    local q = attention.split_heads(narrow(c_attn, 3, 0, 16), 2)
    local k = attention.split_heads(narrow(c_attn, 3, 16, 16), 2)
    local v = attention.split_heads(narrow(c_attn, 3, 32, 16), 2)
    local merged = attention.merge_heads(attention.attend(q, k, v, causal))
    local add = scope("attn.c_proj", nn.conv1d, merged, 16) + x
    local ln_2 = scope("ln_2", nn.layer_norm, add, {eps = 1e-5})
    local gelu = nn.gelu_tanh(scope("mlp.c_fc", nn.conv1d, ln_2, 64))
    return add + scope("mlp.c_proj", nn.conv1d, gelu, 16)
end

for i = 0, 1 do
    hidden = scope("model.transformer.h." .. i, h, hidden)
end

local ln_f = scope("model.transformer.ln_f", nn.layer_norm, hidden, {eps = 1e-5})
local lm_head = scope("model.lm_head", nn.linear, ln_f, 24, false)
return {
    y = lm_head,
}
