-- Gemma 2 (Gemma Team, 2024): norms before and after each part of a block, capped scores and logits,
-- every other layer with a sliding window.  Names are Hugging Face's (Gemma2ForCausalLM).

local nn = require "nn"
local attention, embedding, huggingface = require "attention", require "embedding", require "huggingface"
local llama, transformer = require "llama", require "transformer"

local o = options(llama.options {
    model_type = {"gemma2"},
    head_dim = 256, hidden_activation = huggingface.gated_activations("gelu_pytorch_tanh"),
    query_pre_attn_scalar = 256, attention_bias = false, tie_word_embeddings = true,
    attn_logit_softcapping = {number = 50}, final_logit_softcapping = {number = 30}, -- 0: none
    sliding_window = 4096,
    layer_types = "", -- "sliding_attention,full_attention" and so on; "": as below
    use_bidirectional_attention = {"false"},
}, huggingface.keys {"hidden_act", "is_decoder"}, huggingface.sizes)

local norm = {eps = o.rms_norm_eps, unit_offset = true}

-- f(x) between two norms.
local function between(before, after, f)
    return function(x)
        local y = f(scope(before, nn.rms_norm, x, norm))
        return (scope(after, nn.rms_norm, y, norm))
    end
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

local windows = huggingface.windows(o, function(layer) return layer % 2 == 0 end)
for i, layer in ipairs(llama.layers(o, windows)) do
    layer.bias, layer.out_bias = o.attention_bias, o.attention_bias
    layer.how = {scale = 1 / math.sqrt(o.query_pre_attn_scalar)}
    if o.attn_logit_softcapping > 0 then layer.how.soft_cap = o.attn_logit_softcapping end
    x = scope("model.layers." .. i - 1, block, x, layer)
end
x = scope("model.norm", nn.rms_norm, x, norm)

local function head(x, tokens)
    local logits = llama.head(x, o, tokens)
    if o.final_logit_softcapping == 0 then return logits end
    return (attention.soft_cap(logits, o.final_logit_softcapping))
end
return (embedding.of_decoder(x, ids, n, o, head))
