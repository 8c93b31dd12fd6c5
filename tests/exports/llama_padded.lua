-- llama_padded.onnx, by pytorch, opset 18
local nn = require "nn"
local attention = require "attention"
local rotary = require "rotary"

local x = input("x", {2, 6}, "i32")
local _to_copy = int(logical_not(eq(x, 0)))
local view_3 = reshape(ne(_to_copy, 0), {2, 1, 6})
local view_4 = reshape(logical_and(le(iota({6, 6}, 2), iota({6, 6}, 1)), view_3), {2, 1, 6, 6})
local unsqueeze_2 = reshape(maximum(cumsum(_to_copy, 2) - 1, 0), {2, 1, 6})
local val_178 = where(view_4, const(0, {}, "f32"), const(-3.4028235e+38, {}, "f32"))
local transpose_2 = transpose(matmul(param("expand_2", {2, 2, 1}), float(unsqueeze_2)), 2, 3)
local cosines = reshape(cos(transpose_2), {2, 1, 6, 2})
local sines = reshape(sin(transpose_2), {2, 1, 6, 2})
local hidden = scope("m.model.embed_tokens", nn.embedding, x, 24, 16)

local function layer(x)
    local input_layernorm = scope("input_layernorm", nn.rms_norm, x, {eps = 1e-6})
    local q_proj = scope("self_attn.q_proj", nn.linear, input_layernorm, 16, false)
    local heads = attention.split_heads(scope("self_attn.k_proj", nn.linear, input_layernorm, 8,
        false), 2)
    local k = rotary.halves(heads, {cos = cosines, sin = sines})
    local heads_2 = attention.split_heads(q_proj, 4)
    local q = rotary.halves(heads_2, {cos = cosines, sin = sines})
    local v = attention.split_heads(scope("self_attn.v_proj", nn.linear, input_layernorm, 8, false),
        2)
    local attended = attention.grouped(q, k, v, nil, nil, {softmax = nn.safe_softmax,
        bias = val_178})
    local o_proj = scope("self_attn.o_proj", nn.linear, attention.merge_heads(attended), 16, false)
    local add_4 = x + o_proj
    local post_attention_layernorm = scope("post_attention_layernorm", nn.rms_norm, add_4,
        {eps = 1e-6})
    local silu = nn.silu(scope("mlp.gate_proj", nn.linear, post_attention_layernorm, 24, false))
    local mul_10 = silu * scope("mlp.up_proj", nn.linear, post_attention_layernorm, 24, false)
    return add_4 + scope("mlp.down_proj", nn.linear, mul_10, 16, false)
end

for i = 0, 1 do
    hidden = scope("m.model.layers." .. i, layer, hidden)
end

local norm = scope("m.model.norm", nn.rms_norm, hidden, {eps = 1e-6})
local lm_head = scope("m.lm_head", nn.linear, norm, 24, false)
return {
    y = lm_head,
}
