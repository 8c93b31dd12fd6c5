-- Megatron-BERT (Shoeybi et al.: Megatron-LM, 2019): a BERT whose norms stand before attention and feed-forward, and
-- after the last block in place of behind the embeddings.  Names are Hugging Face's (MegatronBertModel; of models
-- with a head, --set name_prefix=bert.).

local nn = require "nn"
local encoder, huggingface, transformer = require "encoder", require "huggingface", require "transformer"

local o = options(encoder.options {
    model_type = {"megatron-bert"},
    vocab_size = 29056, hidden_size = 1024, intermediate_size = 4096, num_hidden_layers = 24,
    num_attention_heads = 16, type_vocab_size = 2, position_embedding_type = {"absolute"},
}, huggingface.keys({}, true), huggingface.sizes)

local texts = encoder.texts(o, o.max_position_embeddings)
texts.types = encoder.types(o, texts)

-- Words, segments and positions: the sum without the norm of encoder.embeddings.
local function embed()
    local x = scope("word_embeddings", nn.embedding, texts.ids, o.vocab_size, o.hidden_size, 0.02)
    x = x + scope("token_type_embeddings", nn.embedding, texts.types, o.type_vocab_size, o.hidden_size, 0.02)
    return (scope("position_embeddings", nn.learned_positions, x, o.max_position_embeddings, 0.02))
end

local names = huggingface.merge(encoder.bert_names, {attention_norm = "attention.ln", inner_norm = "ln"})

prefix(o.name_prefix)
local x = scope("embeddings", embed)
x = transformer.stack(x, "encoder.layer", o.num_hidden_layers, encoder.pre_norm_block(o, texts, names))
x = scope("encoder.ln", nn.layer_norm, x, {eps = o.layer_norm_eps})
return encoder.outputs(x, o, texts, {
    pooler = encoder.pooler("pooler.dense"),
    words = encoder.word_head(o, o.hidden_size, huggingface.activation(o.hidden_act), {
        dense = "cls.predictions.transform.dense", norm = "cls.predictions.transform.LayerNorm",
        decoder = "cls.predictions.decoder", bias = "cls.predictions.bias"}),
})
