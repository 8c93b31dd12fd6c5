-- Megatron-BERT (Shoeybi et al.: Megatron-LM, 2019): a BERT whose norms stand before attention and feed-forward, and
-- after the last block in place of behind the embeddings.  Names are Hugging Face's (MegatronBertModel; of models
-- with a head, --set name_prefix=bert.).

local nn, attention = require "nn", require "attention"
local encoder, huggingface, transformer = require "encoder", require "huggingface", require "transformer"

local o = options(encoder.options {
    model_type = {"megatron-bert"},
    vocab_size = 29056, hidden_size = 1024, intermediate_size = 4096, num_hidden_layers = 24,
    num_attention_heads = 16, type_vocab_size = 2, position_embedding_type = {"absolute"},
}, huggingface.keys({}, true), huggingface.sizes)

local texts = encoder.texts(o, o.max_position_embeddings)
texts.types = encoder.types(o, texts)

local function norm(x) return (nn.layer_norm(x, {eps = o.layer_norm_eps})) end

-- Words, segments and positions: the sum without the norm of encoder.embeddings.
local function embed()
    local x = scope("word_embeddings", nn.embedding, texts.ids, o.vocab_size, o.hidden_size, 0.02)
    x = x + scope("token_type_embeddings", nn.embedding, texts.types, o.type_vocab_size, o.hidden_size, 0.02)
    return (scope("position_embeddings", nn.learned_positions, x, o.max_position_embeddings, 0.02))
end

local layer = {
    n_head = o.num_attention_heads, mask = texts.mask, names = encoder.bert_names.attention,
    how = {softmax = texts.mask and nn.safe_softmax},
}
local feed_forward = {
    d_ff = o.intermediate_size, act = huggingface.activation(o.hidden_act),
    in_name = encoder.bert_names.inner, out_name = encoder.bert_names.outer,
}

local function attend(x) return (attention.separate(scope("ln", norm, x), layer)) end

local function block(x)
    return transformer.block(x,
        function(x) return (scope("attention", attend, x)) end,
        function(x) return (transformer.feed_forward(scope("ln", norm, x), feed_forward)) end)
end

prefix(o.name_prefix)
local x = scope("embeddings", embed)
x = transformer.stack(x, "encoder.layer", o.num_hidden_layers, block)
x = scope("encoder.ln", norm, x)
return encoder.outputs(x, o, texts, {
    pooler = encoder.pooler("pooler.dense"),
    words = encoder.word_head(o, o.hidden_size, huggingface.activation(o.hidden_act), {
        dense = "cls.predictions.transform.dense", norm = "cls.predictions.transform.LayerNorm",
        decoder = "cls.predictions.decoder", bias = "cls.predictions.bias"}),
})
