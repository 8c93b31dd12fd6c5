-- RemBERT (Chung et al.: Rethinking Embedding Coupling, 2021): a BERT of many languages whose embedding is narrower
-- than its layers, and the table of its head wider.  Names are Hugging Face's (RemBertModel; of models with a head,
-- --set name_prefix=rembert.).

local nn = require "nn"
local encoder, huggingface, transformer = require "encoder", require "huggingface", require "transformer"

local o = options(encoder.options {
    model_type = {"rembert"},
    vocab_size = 250300, hidden_size = 1152, num_hidden_layers = 32, num_attention_heads = 18,
    intermediate_size = 4608, input_embedding_size = 256, output_embedding_size = 1664,
    position_embedding_type = {"absolute"}, type_vocab_size = 2,
    tie_word_embeddings = false, -- whatever a file says
}, huggingface.keys({"classifier_dropout_prob", "tie_word_embeddings"}, true), huggingface.sizes)

local texts = encoder.texts(o, o.max_position_embeddings)
texts.types = encoder.types(o, texts)

prefix(o.name_prefix)
local x = scope("embeddings", encoder.embeddings, texts, o, o.input_embedding_size)
x = scope("encoder.embedding_hidden_mapping_in", nn.linear, x, o.hidden_size)
local block = encoder.block(o, texts, encoder.bert_names)
x = transformer.stack(x, "encoder.layer", o.num_hidden_layers, block)
return encoder.outputs(x, o, texts, {
    pooler = encoder.pooler("pooler.dense"),
    words = encoder.word_head(o, o.output_embedding_size, huggingface.activation(o.hidden_act), {
        dense = "cls.predictions.dense", norm = "cls.predictions.LayerNorm", decoder = "cls.predictions.decoder"}),
})
