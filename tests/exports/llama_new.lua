-- llama_new.onnx, by pytorch, opset 23
local nn = require "nn"
local attention = require "attention"
local masks = require "masks"
local rotary = require "rotary"

local x = input("x", {1, 6}, "i32")
local angles = rotary.angles(6, rotary.frequencies(4, 10000))
local causal = masks.causal(6)
local hidden = scope("model.model.embed_tokens", nn.embedding, x, 24, 16)

local function layer(x)
    local input_layernorm = scope("input_layernorm", nn.rms_norm, x, {eps = 1e-6})
    local q_proj = scope("self_attn.q_proj", nn.linear, input_layernorm, 16, false)
    local heads = attention.split_heads(scope("self_attn.k_proj", nn.linear, input_layernorm, 8,
        false), 2)
    local k = rotary.halves(heads, angles)
    local q = rotary.halves(attention.split_heads(q_proj, 4), angles)
    local v = attention.split_heads(scope("self_attn.v_proj", nn.linear, input_layernorm, 8, false),
        2)
    local merged = attention.merge_heads(attention.grouped(q, k, v, causal))
    local add_7 = x + scope("self_attn.o_proj", nn.linear, merged, 16, false)
    local post_attention_layernorm = scope("post_attention_layernorm", nn.rms_norm, add_7,
        {eps = 1e-6})
    local silu = nn.silu(scope("mlp.gate_proj", nn.linear, post_attention_layernorm, 24, false))
    local mul_12 = silu * scope("mlp.up_proj", nn.linear, post_attention_layernorm, 24, false)
    return add_7 + scope("mlp.down_proj", nn.linear, mul_12, 16, false)
end

for i = 0, 1 do
    hidden = scope("model.model.layers." .. i, layer, hidden)
end

local norm = scope("model.model.norm", nn.rms_norm, hidden, {eps = 1e-6})
local lm_head = scope("model.lm_head", nn.linear, norm, 24, false)
return {
    y = lm_head,
}
