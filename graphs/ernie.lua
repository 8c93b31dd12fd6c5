-- ERNIE 3.0 and earlier (Sun et al., 2019 to 2021): a BERT that may add a vector for the task, which is task 0 here.
-- Names are Hugging Face's (ErnieModel; of models with a head, --set name_prefix=ernie.).

local encoder, huggingface, transformer = require "encoder", require "huggingface", require "transformer"

local o = options(encoder.options {
    model_type = {"ernie"},
    type_vocab_size = 2, position_embedding_type = {"absolute"},
    use_task_id = false, task_type_vocab_size = 3,
}, huggingface.keys({}, true), huggingface.sizes)

local texts = encoder.texts(o, o.max_position_embeddings)
texts.types = encoder.types(o, texts)
texts.tasks = o.use_task_id and const(0, {o.B, texts.T}, "i32")

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
