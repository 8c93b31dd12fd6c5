-- Nomic BERT (Nussbaum et al.: Nomic Embed, 2024), a BERT with rotary positions and a gated feed-forward.
-- Names are those of the published files (NomicBertModel; of models with a head, --set
-- name_prefix=nomic_bert.).

local nn = require "nn"
local attention, encoder, huggingface = require "attention", require "encoder", require "huggingface"
local rotary, transformer = require "rotary", require "transformer"

local o = options(encoder.options(huggingface.merge(huggingface.rope_options(), {
    model_type = {"nomic_bert"},
    vocab_size = 30528, type_vocab_size = 2,
    hidden_act = huggingface.gated_activations("silu"), activation_function = {"swiglu", "geglu"},
    qkv_proj_bias = false, mlp_fc1_bias = false, mlp_fc2_bias = false,
    rope_theta = {number = 1000}, rotary_emb_fraction = {number = 1}, rope_type = {"default", "linear"},
    rotary_scaling_factor = {number = 0}, max_trained_positions = 2048, -- for longer texts, 0: none
    causal = {"false"}, parallel_block = {"false"}, prenorm = {"false"}, use_rms_norm = {"false"},
    rotary_emb_interleaved = {"false"}, scale_attn_by_inverse_layer_idx = {"false"},
})), huggingface.keys {"dense_seq_output", "fused_bias_fc", "fused_dropout_add_ln",
    "pad_vocab_size_multiple", "parallel_block_tied_norm", "scale_attn_weights", "use_flash_attn",
    "use_xentropy"}, huggingface.sizes)

if o.rotary_scaling_factor ~= 0 and o.T > o.max_trained_positions then
    error("rotary_scaling_factor and texts of " .. o.T .. " tokens, expected at most max_trained_positions, " ..
        o.max_trained_positions)
end
local C, norm = o.hidden_size, {eps = o.layer_norm_eps}
local texts = encoder.texts(o, math.huge)
local d = attention.head_size(C, o.num_attention_heads)
local angles = huggingface.rope(o, texts.T, math.floor(d * o.rotary_emb_fraction))
local layer = {
    n_head = o.num_attention_heads, bias = o.qkv_proj_bias, qkv_name = "Wqkv", out_name = "out_proj",
    position = function(x) return (rotary.halves(x, angles)) end,
    mask = texts.mask, how = {softmax = texts.mask and nn.safe_softmax},
}
local feed_forward = {
    d_ff = o.intermediate_size, bias = o.mlp_fc1_bias, down_bias = o.mlp_fc2_bias,
    glu = huggingface.gated(o.activation_function == "geglu" and "gelu" or o.hidden_act),
    gate_name = "fc12", up_name = "fc11", down_name = "fc2",
}

local function block(x)
    return transformer.post_norm_block(x,
        function(x) return (scope("attn", attention.fused, x, layer)) end,
        function(x) return (scope("norm1", nn.layer_norm, x, norm)) end,
        function(x) return (scope("mlp", transformer.gated_feed_forward, x, feed_forward)) end,
        function(x) return (scope("norm2", nn.layer_norm, x, norm)) end)
end

prefix(o.name_prefix)
local x = scope("embeddings.word_embeddings", nn.embedding, texts.ids, o.vocab_size, C, 0.02)
if o.type_vocab_size > 0 then
    local types = encoder.types(o, texts)
    x = x + scope("embeddings.token_type_embeddings", nn.embedding, types, o.type_vocab_size, C, 0.02)
end
x = transformer.stack(scope("emb_ln", nn.layer_norm, x, norm), "encoder.layers", o.num_hidden_layers, block)
return (encoder.outputs(x, o, texts, {
    pooler = o.classes > 0 and encoder.pooler("pooler.dense"),
    words = encoder.word_head(o, C, huggingface.activation(o.hidden_act), {
        dense = "cls.predictions.transform.dense", norm = "cls.predictions.transform.layer_norm",
        decoder = "cls.predictions.decoder", bias = "cls.predictions.bias"}),
}))
