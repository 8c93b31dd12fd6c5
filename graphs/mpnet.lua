-- MPNet (Song et al., 2020): a BERT without segments, whose scores of attention get a bias by the distance of two
-- tokens, the same in all layers.  Names are Hugging Face's (MPNetModel; of models with a head, --set
-- name_prefix=mpnet.).

local nn = require "nn"
local encoder, huggingface, transformer = require "encoder", require "huggingface", require "transformer"
local masks = require "masks"

local o = options(encoder.options {
    model_type = {"mpnet"},
    vocab_size = 30527, max_position_embeddings = 514, relative_attention_num_buckets = 32,
    position_embedding_type = {"absolute"},
}, huggingface.keys({}, true), huggingface.sizes)

local names = {
    attention = {q = "attn.q", k = "attn.k", v = "attn.v", out = "attn.o"},
    attention_norm = "attention.LayerNorm",
    inner = "intermediate.dense", outer = "output.dense", outer_norm = "output.LayerNorm",
}
local pad = 1 -- whatever pad_token_id says

local texts = encoder.texts(o, o.max_position_embeddings - pad - 1)
texts.positions = encoder.positions_past(pad, texts.ids)

prefix(o.name_prefix)
local x = scope("embeddings", encoder.embeddings, texts, o, o.hidden_size)
local table = param("encoder.relative_attention_bias.weight",
    {o.relative_attention_num_buckets, o.num_attention_heads}, {normal = 0.02})
local bias = masks.relative(table, texts.T, 32, 128)
x = transformer.stack(x, "encoder.layer", o.num_hidden_layers, encoder.block(o, texts, names, bias))
return encoder.outputs(x, o, texts, {
    pooler = encoder.pooler("pooler.dense"),
    classifier = encoder.two_layers(tanh),
    words = encoder.word_head(o, o.hidden_size, nn.gelu, {
        dense = "lm_head.dense", norm = "lm_head.layer_norm", decoder = "lm_head.decoder",
        bias = "lm_head.bias"}),
})
