-- Phi-1, 1.5 and 2 (Li et al.: Textbooks Are All You Need II, 2023): attention and feed-forward side by
-- side behind one norm, rotary positions for a part of each head.  Names are Hugging Face's
-- (PhiForCausalLM).

local nn = require "nn"
local attention, huggingface = require "attention", require "huggingface"
local masks, rotary, transformer = require "masks", require "rotary", require "transformer"

local o = options(huggingface.merge(huggingface.rope_options(), {
    B = 1, T = 16, -- sequences, tokens
    model_type = {"phi"},
    vocab_size = 512, hidden_size = 64, intermediate_size = 256, num_hidden_layers = 2,
    num_attention_heads = 4, num_key_value_heads = 0, -- 0: as many
    hidden_act = huggingface.activations("gelu_new"), layer_norm_eps = 1e-5,
    partial_rotary_factor = {number = 0.5}, qk_layernorm = false, tie_word_embeddings = false,
}), huggingface.keys({"is_decoder"}, true), huggingface.sizes)

local norm = {eps = o.layer_norm_eps}
local d = attention.head_size(o.hidden_size, o.num_attention_heads)
local angles = huggingface.partial_rope(o, d)
local feed_forward = huggingface.feed_forward(o, "fc1", "fc2")
local function layer_norm(x) return (nn.layer_norm(x, norm)) end

local layer = {
    n_head = o.num_attention_heads, mask = masks.causal(o.T),
    n_kv_head = o.num_key_value_heads > 0 and o.num_key_value_heads or nil,
    norm = o.qk_layernorm and layer_norm or nil,
    position = function(x) return (rotary.halves(x, angles)) end,
    names = {q = "q_proj", k = "k_proj", v = "v_proj", out = "dense",
        q_norm = "q_layernorm", k_norm = "k_layernorm"},
}

local function block(x)
    local n = scope("input_layernorm", layer_norm, x)
    return transformer.parallel_block(x,
        function() return (scope("self_attn", attention.separate, n, layer)) end,
        function() return feed_forward(n) end)
end

local ids = input("ids", {o.B, o.T}, "i32")
local x = scope("model.embed_tokens", nn.embedding, ids, o.vocab_size, o.hidden_size, 0.02)
x = transformer.stack(x, "model.layers", o.num_hidden_layers, block)
x = scope("model.final_layernorm", layer_norm, x)
if not o.tie_word_embeddings then return {logits = scope("lm_head", nn.linear, x, o.vocab_size)} end
local logits = scope("model.embed_tokens", nn.tied_head, x, o.vocab_size, 0.02)
return {logits = logits + param("lm_head.bias", {o.vocab_size}, {fill = 0})}
