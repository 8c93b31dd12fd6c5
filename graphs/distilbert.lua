-- DistilBERT (Sanh et al., 2019): a BERT of half the layers, without segments and pooler.  Names are Hugging
-- Face's (DistilBertModel; of models with a head, --set name_prefix=distilbert.).

local nn = require "nn"
local encoder, huggingface, transformer = require "encoder", require "huggingface", require "transformer"

local keys = huggingface.merge(huggingface.keys({"sinusoidal_pos_embds", "tie_weights_", "dropout", "qa_dropout",
    "seq_classif_dropout"}, true), {
    dim = "hidden_size", hidden_dim = "intermediate_size", n_heads = "num_attention_heads",
    n_layers = "num_hidden_layers", activation = "hidden_act",
})
local o = options(encoder.options {
    model_type = {"distilbert"},
    num_hidden_layers = 6, position_embedding_type = {"absolute"},
}, keys, huggingface.sizes)

local names = {
    attention = {q = "q_lin", k = "k_lin", v = "v_lin", out = "out_lin"},
    attention_norm = "sa_layer_norm",
    inner = "ffn.lin1", outer = "ffn.lin2", outer_norm = "output_layer_norm",
}

local texts = encoder.texts(o, o.max_position_embeddings)
prefix(o.name_prefix)
local x = scope("embeddings", encoder.embeddings, texts, o, o.hidden_size)
x = transformer.stack(x, "transformer.layer", o.num_hidden_layers, encoder.block(o, texts, names))
return encoder.outputs(x, o, texts, {
    classifier = function(first, classes)
        first = nn.relu(scope("pre_classifier", nn.linear, first, o.hidden_size))
        return (scope("classifier", nn.linear, first, classes))
    end,
    words = encoder.word_head(o, o.hidden_size, huggingface.activation(o.hidden_act), {
        dense = "vocab_transform", norm = "vocab_layer_norm", decoder = "vocab_projector",
        bias = "vocab_projector.bias"}),
})
