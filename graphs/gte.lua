-- GTE (Zhang et al.: mGTE, 2024), a BERT with rotary positions and a packed, gated feed-forward.  Names are
-- those of the published files (NewModel, GteModel; of models with a head, --set name_prefix=new.).

local nn = require "nn"
local attention, encoder, huggingface = require "attention", require "encoder", require "huggingface"
local rotary, transformer = require "rotary", require "transformer"

local o = options(encoder.options(huggingface.merge(huggingface.rope_options(), {
    model_type = {"new", "gte"},
    vocab_size = 30528, type_vocab_size = 0,
    hidden_act = huggingface.gated_activations("gelu"),
    rope_theta = {number = 160000}, rope_type = {"default", "linear", "ntk"},
    position_embedding_type = {"rope", "absolute"}, -- of which model_type gte takes no notice
    layer_norm_type = {"layer_norm"}, pack_qkv = {"true"},
    logn_attention_scale = {"false"}, logn_attention_clip1 = {"false"},
})), huggingface.keys {"use_memory_efficient_attention", "unpad_inputs"},
    huggingface.merge(huggingface.sizes, {type_vocab_size = {0, 2 ^ 20}}))

if o.model_type == "new" and o.position_embedding_type == "absolute" then
    error("found position_embedding_type absolute, expected rope")
end
local C, norm = o.hidden_size, {eps = o.layer_norm_eps}
local texts = encoder.texts(o, math.huge)
local angles = huggingface.rope(o, texts.T, attention.head_size(C, o.num_attention_heads))
local layer = {
    n_head = o.num_attention_heads, qkv_name = "qkv_proj", out_name = "o_proj",
    position = function(x) return (rotary.halves(x, angles)) end,
    mask = texts.mask, how = {softmax = texts.mask and nn.safe_softmax},
}
local feed_forward = {
    d_ff = o.intermediate_size, glu = huggingface.gated(o.hidden_act), bias = false, out_bias = true,
    gate_last = true, in_name = "up_gate_proj", out_name = "down_proj",
}

local function block(x)
    return transformer.post_norm_block(x,
        function(x) return (scope("attention", attention.fused, x, layer)) end,
        function(x) return (scope("attn_ln", nn.layer_norm, x, norm)) end,
        function(x) return (scope("mlp", transformer.packed_feed_forward, x, feed_forward)) end,
        function(x) return (scope("mlp_ln", nn.layer_norm, x, norm)) end)
end

prefix(o.name_prefix)
local x = scope("embeddings.word_embeddings", nn.embedding, texts.ids, o.vocab_size, C, 0.02)
if o.type_vocab_size > 0 then
    local types = encoder.types(o, texts)
    x = x + scope("embeddings.token_type_embeddings", nn.embedding, types, o.type_vocab_size, C, 0.02)
end
x = scope("embeddings.LayerNorm", nn.layer_norm, x, norm)
x = transformer.stack(x, "encoder.layer", o.num_hidden_layers, block)
return (encoder.outputs(x, o, texts, {
    pooler = o.classes > 0 and encoder.pooler("pooler.dense"),
    words = encoder.word_head(o, C, o.model_type == "gte" and nn.gelu or huggingface.activation(o.hidden_act), {
        dense = "lm_head.dense", norm = "lm_head.norm", decoder = "lm_head.decoder", bias = "lm_head.decoder.bias"}),
}))
