-- BERT (Devlin et al., 2019), a post-norm encoder: ids to vectors, and one vector for all of a text.
-- Names are Hugging Face's (BertModel; of models with a head, --set name_prefix=bert.).

local encoder, huggingface, transformer = require "encoder", require "huggingface", require "transformer"

local o = options(encoder.options {
    model_type = {"bert"},
    type_vocab_size = 2, position_embedding_type = {"absolute"},
}, huggingface.keys({}, true), huggingface.sizes)

local texts = encoder.texts(o, o.max_position_embeddings)
-- A text alone is all of the only segment, as of a RoBERTa in a GGUF file, whatever its tokenizer says.
local one_type = o.type_vocab_size == 1 and type(texts.T) ~= "number"
texts.types = one_type and const(0, {o.B, texts.T}, "i32") or encoder.types(o, texts)

prefix(o.name_prefix)
local x = scope("embeddings", encoder.embeddings, texts, o, o.hidden_size)
local block = encoder.block(o, texts, encoder.bert_names)
x = transformer.stack(x, "encoder.layer", o.num_hidden_layers, block)
return encoder.outputs(x, o, texts, {
    pooler = encoder.pooler("pooler.dense"),
    words = encoder.word_head(o, o.hidden_size, huggingface.activation(o.hidden_act), {
        dense = "cls.predictions.transform.dense", norm = "cls.predictions.transform.LayerNorm",
        decoder = "cls.predictions.decoder", bias = "cls.predictions.bias"}),
})
