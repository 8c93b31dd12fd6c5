-- ALBERT (Lan et al., 2020): a BERT with narrow embeddings, whose layers share their weights.  Names are Hugging
-- Face's (AlbertModel; of models with a head, --set name_prefix=albert.).

local nn = require "nn"
local encoder, huggingface, transformer = require "encoder", require "huggingface", require "transformer"

local o = options(encoder.options {
    model_type = {"albert"},
    vocab_size = 30000, embedding_size = 128,
    num_hidden_groups = 1, inner_group_num = 1, -- of layers, and layers of a group
    hidden_act = huggingface.activations("gelu_new"),
    type_vocab_size = 2, position_embedding_type = {"absolute"},
    down_scale_factor = {"1"}, gap_size = {"0"}, net_structure_type = {"0"}, num_memory_blocks = {"0"},
}, huggingface.keys({"classifier_dropout_prob"}, true), huggingface.sizes)

local names = {
    attention = {q = "query", k = "key", v = "value", out = "dense"},
    attention_norm = "attention.LayerNorm",
    inner = "ffn", outer = "ffn_output", outer_norm = "full_layer_layer_norm",
}

local texts = encoder.texts(o, o.max_position_embeddings)
texts.types = encoder.types(o, texts)

prefix(o.name_prefix)
local x = scope("embeddings", encoder.embeddings, texts, o, o.embedding_size)
x = scope("encoder.embedding_hidden_mapping_in", nn.linear, x, o.hidden_size)
local block = encoder.block(o, texts, names)
for i = 0, o.num_hidden_layers - 1 do
    local group = math.floor(i * o.num_hidden_groups / o.num_hidden_layers)
    local layers = "encoder.albert_layer_groups." .. group .. ".albert_layers"
    x = transformer.stack(x, layers, o.inner_group_num, block)
end
return encoder.outputs(x, o, texts, {
    pooler = encoder.pooler("pooler"),
    words = encoder.word_head(o, o.embedding_size, huggingface.activation(o.hidden_act), {
        dense = "predictions.dense", norm = "predictions.LayerNorm", decoder = "predictions.decoder",
        bias = "predictions.bias"}),
})
