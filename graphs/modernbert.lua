-- ModernBERT (Warner et al.: Smarter, Better, Faster, Longer, 2024), a pre-norm encoder with rotary
-- positions, in most of whose layers a token sees its neighbours only.  Names are Hugging Face's
-- (ModernBertForMaskedLM; of a ModernBertModel, --set name_prefix=).

local nn = require "nn"
local attention, encoder, huggingface = require "attention", require "encoder", require "huggingface"
local masks, rotary, transformer = require "masks", require "rotary", require "transformer"

-- rope_parameters has a table for each kind of layer.
local meanings = huggingface.merge(huggingface.keys {"deterministic_flash_attn",
    "embedding_dropout", "initializer_cutoff_factor", "layer_norm_eps", "mlp_dropout", "position_embedding_type",
    "reference_compile", "sparse_pred_ignore_index", "sparse_prediction"}, {
    ["rope_parameters.full_attention.rope_type"] = "rope_type",
    ["rope_parameters.full_attention.rope_theta"] = "global_rope_theta",
    ["rope_parameters.sliding_attention.rope_type"] = "rope_local_type",
    ["rope_parameters.sliding_attention.rope_theta"] = "local_rope_theta",
})
local o = options(encoder.options {
    model_type = {"modernbert"},
    vocab_size = 50368, intermediate_size = 1152, num_hidden_layers = 22, hidden_activation = huggingface.gated_activations("gelu"),
    norm_eps = {number = 1e-5}, norm_bias = false, attention_bias = false, mlp_bias = false,
    global_attn_every_n_layers = 3, layer_types = "", local_attention = 128, -- a window, both sides
    sliding_window = 0, -- half of it, which counts where it is there
    global_rope_theta = {number = 160000}, local_rope_theta = {number = 10000},
    rope_type = {"default"}, rope_local_type = {"default"},
    classifier_pooling = {"cls", "mean"}, classifier_bias = false,
    classifier_activation = huggingface.activations("gelu"), decoder_bias = true,
    name_prefix = "model.",
}, meanings, huggingface.sizes)

local norm = {eps = o.norm_eps, bias = o.norm_bias}
local d = attention.head_size(o.hidden_size, o.num_attention_heads)
local texts = encoder.texts(o, math.huge)

-- What attention.fused needs in the layers that see all, or the tokens of a window.
local function layer_of(theta, mask)
    local angles = rotary.angles(texts.T, rotary.frequencies(d, theta))
    return {
        n_head = o.num_attention_heads, bias = o.attention_bias, qkv_name = "Wqkv", out_name = "Wo",
        position = function(x) return (rotary.halves(x, angles)) end,
        mask = mask and texts.mask and logical_and(mask, texts.mask) or mask or texts.mask,
        how = {softmax = texts.mask and nn.safe_softmax},
    }
end

local function block(x, layer, is_first)
    return transformer.block(x,
        function(x)
            if not is_first then x = scope("attn_norm", nn.layer_norm, x, norm) end
            return (scope("attn", attention.fused, x, layer))
        end,
        function(x)
            local n = scope("mlp_norm", nn.layer_norm, x, norm)
            return (scope("mlp", transformer.packed_feed_forward, n, {
                d_ff = o.intermediate_size, glu = huggingface.gated(o.hidden_activation),
                bias = o.mlp_bias, in_name = "Wi", out_name = "Wo"}))
        end)
end

-- A layer and a norm in front of what is told of a token, or of a text.
local function head(x)
    x = scope("head.dense", nn.linear, x, o.hidden_size, o.classifier_bias)
    return (scope("head.norm", nn.layer_norm, huggingface.activation(o.classifier_activation)(x), norm))
end

local function classify(x, classes)
    return (scope("classifier", nn.linear, head(x), classes))
end

prefix(o.name_prefix)
local x = scope("embeddings.tok_embeddings", nn.embedding, texts.ids, o.vocab_size, o.hidden_size, 0.02)
x = scope("embeddings.norm", nn.layer_norm, x, norm)
local reach = o.sliding_window > 0 and o.sliding_window or math.floor(o.local_attention / 2)
local local_theta = o.local_rope_theta > 0 and o.local_rope_theta or o.global_rope_theta
local all, near = layer_of(o.global_rope_theta), layer_of(local_theta, masks.local_window(texts.T, reach))
local kinds = {num_hidden_layers = o.num_hidden_layers, layer_types = o.layer_types, sliding_window = 1}
local slides = huggingface.windows(kinds, function(i) return i % o.global_attn_every_n_layers ~= 0 end)
for i = 1, o.num_hidden_layers do
    x = scope("layers." .. i - 1, block, x, slides[i] > 0 and near or all, i == 1)
end
x = scope("final_norm", nn.layer_norm, x, norm)
return (encoder.outputs(x, o, texts, {
    classes = function(x)
        local pool = o.classifier_pooling == "cls" and encoder.first_of or encoder.mean_of
        return (classify(pool(x, texts), o.classes))
    end,
    tokens = function(x) return (classify(x, o.token_classes)) end,
    words = function(x)
        x = head(x)
        if not o.tie_word_embeddings then return (scope("decoder", nn.linear, x, o.vocab_size, o.decoder_bias)) end
        prefix(o.name_prefix)
        local words = scope("embeddings.tok_embeddings", nn.tied_head, x, o.vocab_size, 0.02)
        prefix("")
        return o.decoder_bias and words + param("decoder.bias", {o.vocab_size}, {fill = 0}) or words
    end,
}))
