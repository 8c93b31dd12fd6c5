-- ELECTRA (Clark et al., 2020): a BERT whose embedding may have another width, without a pooler.  Names are
-- Hugging Face's (ElectraModel; of models with a head, --set name_prefix=electra.).

local nn = require "nn"
local encoder, huggingface, transformer = require "encoder", require "huggingface", require "transformer"

local o = options(encoder.options {
    model_type = {"electra"},
    embedding_size = 128, hidden_size = 256, intermediate_size = 1024, num_attention_heads = 4,
    type_vocab_size = 2, position_embedding_type = {"absolute"},
    discriminator = false, -- whether logits [B, T] tell which tokens were replaced (ElectraForPreTraining)
}, huggingface.keys({"summary_last_dropout", "generator_size"}, true), huggingface.sizes)

local texts = encoder.texts(o, o.max_position_embeddings)
texts.types = encoder.types(o, texts)

prefix(o.name_prefix)
local x = scope("embeddings", encoder.embeddings, texts, o, o.embedding_size)
if o.embedding_size ~= o.hidden_size then x = scope("embeddings_project", nn.linear, x, o.hidden_size) end
local block = encoder.block(o, texts, encoder.bert_names)
x = transformer.stack(x, "encoder.layer", o.num_hidden_layers, block)
if o.discriminator then
    prefix("")
    local y = scope("discriminator_predictions.dense", nn.linear, x, o.hidden_size)
    y = huggingface.activation(o.hidden_act)(y)
    y = scope("discriminator_predictions.dense_prediction", nn.linear, y, 1)
    return {logits = y:reshape{o.B, texts.T}}
end
return encoder.outputs(x, o, texts, {
    classifier = encoder.two_layers(nn.gelu),
    words = encoder.word_head(o, o.embedding_size, nn.gelu, {
        dense = "generator_predictions.dense", norm = "generator_predictions.LayerNorm",
        decoder = "generator_lm_head", bias = "generator_lm_head.bias"}),
})
