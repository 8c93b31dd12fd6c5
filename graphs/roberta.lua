-- RoBERTa (Liu et al., 2019), and XLM-RoBERTa, CamemBERT and Data2VecText, which are the same: a BERT whose
-- positions count from behind the id of padding, and with other heads.  Names are Hugging Face's (RobertaModel;
-- of models with a head, --set name_prefix=roberta.).

local nn = require "nn"
local encoder, huggingface, transformer = require "encoder", require "huggingface", require "transformer"

local o = options(encoder.options {
    model_type = {"roberta", "xlm-roberta", "camembert", "data2vec-text"},
    vocab_size = 50265, max_position_embeddings = 514, layer_norm_eps = 1e-5, pad_token_id = 1,
    type_vocab_size = 1, position_embedding_type = {"absolute"},
}, huggingface.keys({}, true), huggingface.sizes)

-- Its tokenizers say nothing of segments, so a text is all of the first one.
local texts = encoder.texts(o, o.max_position_embeddings - o.pad_token_id - 1)
local one_type = o.type_vocab_size == 1 or o.classes > 0 or o.pooling ~= "none"
texts.types = one_type and const(0, {o.B, texts.T}, "i32") or encoder.types(o, texts)
texts.positions = encoder.positions_past(o.pad_token_id, texts.ids)

prefix(o.name_prefix)
local x = scope("embeddings", encoder.embeddings, texts, o, o.hidden_size)
local block = encoder.block(o, texts, encoder.bert_names)
x = transformer.stack(x, "encoder.layer", o.num_hidden_layers, block)
return encoder.outputs(x, o, texts, {
    pooler = encoder.pooler("pooler.dense"),
    classifier = encoder.two_layers(tanh),
    words = encoder.word_head(o, o.hidden_size, nn.gelu, {
        dense = "lm_head.dense", norm = "lm_head.layer_norm", decoder = "lm_head.decoder",
        bias = "lm_head.bias"}),
})
