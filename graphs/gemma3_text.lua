-- Gemma 3 (Gemma Team, 2025), its text model: norms before and after each part of a block, queries and
-- keys normalised, five of six layers with a sliding window and rotary positions of their own; and
-- EmbeddingGemma (Vera et al., 2025), in which a token sees those behind it, too.  Names are Hugging
-- Face's (Gemma3ForCausalLM).

local nn, attention, embedding = require "nn", require "attention", require "embedding"
local huggingface, llama = require "huggingface", require "llama"
local rotary, transformer = require "rotary", require "transformer"

-- rope_parameters has a table for each kind of layer.
local meanings = huggingface.merge(huggingface.keys {"hidden_act", "is_decoder",
    "_sliding_window_pattern"}, {
    ["rope_parameters.full_attention.rope_type"] = "rope_type",
    ["rope_parameters.full_attention.rope_theta"] = "rope_theta",
    ["rope_parameters.full_attention.factor"] = "rope_factor",
    ["rope_parameters.sliding_attention.rope_type"] = "rope_local_type",
    ["rope_parameters.sliding_attention.rope_theta"] = "rope_local_base_freq",
})
local o = options(llama.options {
    model_type = {"gemma3_text"},
    head_dim = 256, hidden_activation = huggingface.gated_activations("gelu_pytorch_tanh"),
    query_pre_attn_scalar = 256, attention_bias = false, tie_word_embeddings = true,
    rope_theta = {number = 1e6}, rope_local_base_freq = {number = 10000}, rope_local_type = {"default"},
    sliding_window = 4096, layer_types = "", sliding_window_pattern = 6,
    use_bidirectional_attention = false,
    attn_logit_softcapping = {"0"}, final_logit_softcapping = {"0"}, -- null in config.json
}, meanings, huggingface.sizes)

local function norm(x) return (nn.rms_norm(x, {eps = o.rms_norm_eps, unit_offset = true})) end

-- f(x) between two norms.
local function between(before, after, f)
    return function(x) return (scope(after, norm, f(scope(before, norm, x)))) end
end

local function block(x, layer)
    local function attend(n) return (scope("self_attn", attention.separate, n, layer)) end
    local function feed_forward(n) return (llama.feed_forward(n, o, o.hidden_activation)) end
    return transformer.block(x,
        between("input_layernorm", "post_attention_layernorm", attend),
        between("pre_feedforward_layernorm", "post_feedforward_layernorm", feed_forward))
end

local ids, n = embedding.ids(o)
local x = scope("model.embed_tokens", nn.embedding, ids, o.vocab_size, o.hidden_size, 0.02)
x = x * math.sqrt(o.hidden_size)
local near = rotary.angles(o.T, rotary.frequencies(o.head_dim, o.rope_local_base_freq))
local sees = o
if o.use_bidirectional_attention then -- half of a window lies before a token, half behind it
    sees = huggingface.merge(o, {is_causal = false, sliding_window = math.floor(o.sliding_window / 2) + 1})
end
local windows = huggingface.windows(sees, function(layer)
    return (layer + 1) % o.sliding_window_pattern ~= 0
end)
for i, layer in ipairs(llama.layers(sees, windows)) do
    layer.bias, layer.out_bias, layer.norm = o.attention_bias, o.attention_bias, norm
    layer.how = {scale = 1 / math.sqrt(o.query_pre_attn_scalar)}
    if windows[i] > 0 then layer.position = function(x) return (rotary.halves(x, near)) end end
    x = scope("model.layers." .. i - 1, block, x, layer)
end
x = scope("model.norm", norm, x)
return (embedding.of_decoder(x, ids, n, o, function(x, tokens) return (llama.head(x, o, tokens)) end))
