-- The encoder of T5 (Raffel et al.: Exploring the Limits of Transfer Learning, 2020): pre-norm, without
-- positions but for a bias of scores by distance, which all layers share.  Names are Hugging Face's
-- (T5EncoderModel; of a T5ForTokenClassification, --set name_prefix=transformer.).

local nn = require "nn"
local attention, encoder, huggingface = require "attention", require "encoder", require "huggingface"
local masks, transformer = require "masks", require "transformer"

-- Keys of the decoder, and one that says the same as feed_forward_proj.
local meanings = huggingface.merge(huggingface.keys {"decoder_layers", "dropout_rate", "is_gated_act",
    "num_decoder_layers", "scale_decoder_outputs"}, {
    d_kv = "head_dim", d_ff = "intermediate_size",
})
local o = options(encoder.options {
    model_type = {"t5", "mt5"},
    vocab_size = 32128, hidden_size = 512, head_dim = 64, intermediate_size = 2048,
    num_hidden_layers = 6, num_attention_heads = 8, layer_norm_eps = 1e-6,
    feed_forward_proj = {"relu", "gated-gelu", "gated-silu", "gelu", "silu"},
    dense_act_fn = huggingface.activations "", -- in place of the activation of feed_forward_proj
    relative_attention_num_buckets = 32, relative_attention_max_distance = 128,
}, meanings, huggingface.sizes)

local C, norm = o.hidden_size, {eps = o.layer_norm_eps}
local texts = encoder.texts(o, math.huge)
local layer = {
    n_head = o.num_attention_heads, head_size = o.head_dim, bias = false, out_bias = false,
    mask = texts.mask, how = {scale = 1, softmax = texts.mask and nn.safe_softmax},
    names = {q = "q", k = "k", v = "v", out = "o"},
}

local is_gated = o.feed_forward_proj:sub(1, 6) == "gated-"
local act = o.dense_act_fn
if act == "" then act = is_gated and o.feed_forward_proj:sub(7) or o.feed_forward_proj end
if act == "gelu" and is_gated and o.dense_act_fn == "" then act = "gelu_new" end

local function feed_forward(x)
    if not is_gated then
        return (transformer.feed_forward(x, {d_ff = o.intermediate_size, bias = false,
            act = huggingface.activation(act), in_name = "wi", out_name = "wo"}))
    end
    return (transformer.gated_feed_forward(x, {d_ff = o.intermediate_size, bias = false, glu = huggingface.gated(act),
        gate_name = "wi_0", up_name = "wi_1", down_name = "wo"}))
end

local function block(x)
    return transformer.block(x,
        function(x)
            local n = scope("layer.0.layer_norm", nn.rms_norm, x, norm)
            return (scope("layer.0.SelfAttention", attention.separate, n, layer))
        end,
        function(x)
            local n = scope("layer.1.layer_norm", nn.rms_norm, x, norm)
            return (scope("layer.1.DenseReluDense", feed_forward, n))
        end)
end

prefix(o.name_prefix)
local buckets = o.relative_attention_num_buckets
local rows = param("encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight",
    {buckets, o.num_attention_heads}, {normal = 0.1})
layer.how.bias = masks.relative(rows, texts.T, buckets, o.relative_attention_max_distance)
local x = scope("shared", nn.embedding, texts.ids, o.vocab_size, C, 1)
x = transformer.stack(x, "encoder.block", o.num_hidden_layers, block)
x = scope("encoder.final_layer_norm", nn.rms_norm, x, norm)
return (encoder.outputs(x, o, texts, {}))
