-- RoFormer (Su et al.: RoFormer, 2021): a BERT with rotary positions, without a pooler, whose embedding may have
-- another width.  Names are Hugging Face's (RoFormerModel; of models with a head, --set name_prefix=roformer.).

local nn, attention = require "nn", require "attention"
local encoder, huggingface = require "encoder", require "huggingface"
local rotary, transformer = require "rotary", require "transformer"

local o = options(encoder.options {
    model_type = {"roformer"},
    vocab_size = 50000, embedding_size = 0, -- 0: hidden_size
    max_position_embeddings = 1536, type_vocab_size = 2, rotary_value = {"false"},
}, huggingface.keys({}, true), huggingface.sizes)

local texts = encoder.texts(o, o.max_position_embeddings)
local C, act = o.hidden_size, huggingface.activation(o.hidden_act)
local width = o.embedding_size > 0 and o.embedding_size or C

-- Words and segments: positions are in the attention.
local function embed()
    local x = scope("word_embeddings", nn.embedding, texts.ids, o.vocab_size, width, 0.02)
    local types = encoder.types(o, texts)
    x = x + scope("token_type_embeddings", nn.embedding, types, o.type_vocab_size, width, 0.02)
    return (scope("LayerNorm", nn.layer_norm, x, {eps = o.layer_norm_eps}))
end

prefix(o.name_prefix)
local x = scope("embeddings", embed)
if width ~= C then x = scope("embeddings_project", nn.linear, x, C) end
local d = attention.head_size(C, o.num_attention_heads)
local angles = rotary.angles(texts.T, rotary.frequencies(d, 10000))
local function turn(x) return (rotary.interleaved(x, angles)) end
local block = encoder.block(o, texts, encoder.bert_names, nil, turn)
x = transformer.stack(x, "encoder.layer", o.num_hidden_layers, block)
return encoder.outputs(x, o, texts, {
    classifier = encoder.two_layers(act),
    words = encoder.word_head(o, width, act, {
        dense = "cls.predictions.transform.dense", norm = "cls.predictions.transform.LayerNorm",
        decoder = "cls.predictions.decoder", bias = "cls.predictions.bias"}),
})
