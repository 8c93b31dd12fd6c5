-- EuroBERT (Boizard et al.: EuroBERT, 2025), a Llama in which a token sees all others.  Names are Hugging
-- Face's (EuroBertForMaskedLM).

local nn = require "nn"
local attention, encoder, huggingface = require "attention", require "encoder", require "huggingface"
local llama, rotary = require "llama", require "rotary"

local meanings = huggingface.merge(huggingface.keys {"mask_token"}, {clf_pooling = "classifier_pooling"})
local o = options(encoder.options(huggingface.merge(huggingface.rope_options(), {
    model_type = {"eurobert"},
    vocab_size = 128256, num_key_value_heads = 0, head_dim = 0, -- 0: as wide as it takes
    hidden_act = huggingface.gated_activations("silu"), rms_norm_eps = 1e-5,
    attention_bias = false, mlp_bias = false, tie_word_embeddings = false,
    rope_theta = {number = 250000}, rope_type = {"default", "linear", "llama3", "yarn"},
    classifier_pooling = {"late", "bos", "mean"}, -- late: the mean of the tokens' logits
})), meanings, huggingface.sizes)

local texts = encoder.texts(o, math.huge)
local C = o.hidden_size
local d = o.head_dim > 0 and o.head_dim or attention.head_size(C, o.num_attention_heads)
local angles = huggingface.rope(o, texts.T, d)
local layer = {
    n_head = o.num_attention_heads, head_size = d,
    n_kv_head = o.num_key_value_heads > 0 and o.num_key_value_heads or nil,
    bias = o.attention_bias, out_bias = o.attention_bias,
    position = function(x) return (rotary.halves(x, angles)) end,
    mask = texts.mask, how = {softmax = texts.mask and nn.safe_softmax},
    names = {q = "q_proj", k = "k_proj", v = "v_proj", out = "o_proj"},
}
local sizes = {intermediate_size = o.intermediate_size, hidden_act = o.hidden_act, rms_norm_eps = o.rms_norm_eps}

prefix(o.name_prefix)
local x = scope("model.embed_tokens", nn.embedding, texts.ids, o.vocab_size, C, 0.02)
for i = 1, o.num_hidden_layers do
    x = scope("model.layers." .. i - 1, llama.block, x, sizes, layer, o.mlp_bias)
end
x = scope("model.norm", nn.rms_norm, x, {eps = o.rms_norm_eps})

local function classify(x)
    return (scope("classifier", nn.linear, nn.gelu(scope("dense", nn.linear, x, C)), o.classes))
end
return (encoder.outputs(x, o, texts, {
    classes = function(x)
        if o.classifier_pooling == "late" then return (encoder.mean_of(classify(x), texts)) end
        local pool = o.classifier_pooling == "bos" and encoder.first_of or encoder.mean_of
        return (classify(pool(x, texts)))
    end,
    words = function(x)
        if not o.tie_word_embeddings then return (scope("lm_head", nn.linear, x, o.vocab_size, o.mlp_bias)) end
        local words = scope("model.embed_tokens", nn.tied_head, x, o.vocab_size, 0.02)
        return o.mlp_bias and words + param("lm_head.bias", {o.vocab_size}, {fill = 0}) or words
    end,
}))
