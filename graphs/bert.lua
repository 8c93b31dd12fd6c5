-- BERT (Devlin et al., 2019), a post-norm encoder: ids to vectors, and one vector for all of a text.  And the BERT of
-- Jina Embeddings 2 (Günther et al., 2023), with biases by distance in place of positions and a gated feed-forward.
-- Names are Hugging Face's (BertModel; of models with a head, --set name_prefix=bert.).

local encoder, huggingface, transformer = require "encoder", require "huggingface", require "transformer"
local masks = require "masks"

local o = options(encoder.options {
    model_type = {"bert"},
    type_vocab_size = 2, position_embedding_type = {"absolute", "alibi"},
    feed_forward_type = {"original", "geglu", "reglu"},
}, huggingface.keys({"emb_pooler"}, true), huggingface.sizes)

local is_alibi = o.position_embedding_type == "alibi"
local texts = encoder.texts(o, is_alibi and math.huge or o.max_position_embeddings)
-- A text alone is all of the only segment, as of a RoBERTa in a GGUF file, whatever its tokenizer says.
local one_type = o.type_vocab_size == 1 and type(texts.T) ~= "number"
texts.types = one_type and const(0, {o.B, texts.T}, "i32") or encoder.types(o, texts)
local bias
if is_alibi then
    texts.positions = false
    bias = masks.symmetric_alibi(o.num_attention_heads, texts.T)
end

local gated = {
    inner = "mlp.gated_layers", outer = "mlp.wo", outer_norm = "mlp.layernorm",
    glu = huggingface.gated(o.feed_forward_type == "reglu" and "relu" or "gelu"),
}
local names = o.feed_forward_type == "original" and encoder.bert_names
    or huggingface.merge(encoder.bert_names, gated)

prefix(o.name_prefix)
local x = scope("embeddings", encoder.embeddings, texts, o, o.hidden_size)
x = transformer.stack(x, "encoder.layer", o.num_hidden_layers, encoder.block(o, texts, names, bias))
return encoder.outputs(x, o, texts, {
    pooler = encoder.pooler("pooler.dense"),
    words = encoder.word_head(o, o.hidden_size, huggingface.activation(o.hidden_act), {
        dense = "cls.predictions.transform.dense", norm = "cls.predictions.transform.LayerNorm",
        decoder = "cls.predictions.decoder", bias = "cls.predictions.bias"}),
})
