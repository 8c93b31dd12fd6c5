-- RoBERTa-PreLayerNorm (Wettig et al.: Should You Mask 15%?, 2023): a RoBERTa whose norms stand before attention and
-- feed-forward, and behind the last block.  Names are Hugging Face's (RobertaPreLayerNormModel; of models with a head,
-- --set name_prefix=roberta_prelayernorm.).

local nn = require "nn"
local encoder, huggingface, transformer = require "encoder", require "huggingface", require "transformer"

local o = options(encoder.options {
    model_type = {"roberta-prelayernorm"},
    vocab_size = 50265, max_position_embeddings = 514, pad_token_id = 1,
    type_vocab_size = 1, position_embedding_type = {"absolute"},
}, huggingface.keys({}, true), huggingface.sizes)

-- As of RoBERTa, a text is all of the first segment.
local texts = encoder.texts(o, o.max_position_embeddings - o.pad_token_id - 1)
local one_type = o.type_vocab_size == 1 or o.classes > 0 or o.pooling ~= "none"
texts.types = one_type and const(0, {o.B, texts.T}, "i32") or encoder.types(o, texts)
texts.positions = encoder.positions_past(o.pad_token_id, texts.ids)

local names = huggingface.merge(encoder.bert_names, {
    attention_norm = "attention.LayerNorm", inner_norm = "intermediate.LayerNorm"})

prefix(o.name_prefix)
local x = scope("embeddings", encoder.embeddings, texts, o, o.hidden_size)
x = transformer.stack(x, "encoder.layer", o.num_hidden_layers, encoder.pre_norm_block(o, texts, names))
x = scope("LayerNorm", nn.layer_norm, x, {eps = o.layer_norm_eps})
return encoder.outputs(x, o, texts, {
    pooler = encoder.pooler("pooler.dense"),
    classifier = encoder.two_layers(tanh),
    words = encoder.word_head(o, o.hidden_size, nn.gelu, {
        dense = "lm_head.dense", norm = "lm_head.layer_norm", decoder = "lm_head.decoder",
        bias = "lm_head.bias"}),
})
