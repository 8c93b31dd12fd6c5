-- BERT (Devlin et al., 2019), a post-norm encoder: ids to vectors, and one vector for all of a text.
-- Names are Hugging Face's (BertModel; of models with a head, --set name_prefix=bert.).

local nn = require "nn"
local attention, embedding, huggingface = require "attention", require "embedding", require "huggingface"
local masks, transformer = require "masks", require "transformer"

local o = options({
    B = 1, T = 16, -- texts, tokens
    model_type = {"bert"},
    vocab_size = 30522, max_position_embeddings = 512, type_vocab_size = 2,
    hidden_size = 768, intermediate_size = 3072, num_hidden_layers = 12, num_attention_heads = 12,
    hidden_act = huggingface.activations("gelu"), layer_norm_eps = 1e-12,
    position_embedding_type = {"absolute"}, is_decoder = {"false"}, is_causal = {"false"},
    add_cross_attention = {"false"},
    padding = false, -- whether there is an input attention_mask [B, T], 0 for padding
    pooler = true,   -- whether there is the vector for all
    pooling = embedding.poolings, -- not "none": one vector for a text of up to T tokens is all that is returned
    modules = "", normalize = false, -- as embedding.vector takes them
    classes = 0,                  -- of a head for classification, whose logits are all that is returned then
    name_prefix = "", -- before every parameter's name
}, huggingface.keys({"tie_word_embeddings"}, true), huggingface.sizes)

local pooled = o.pooling ~= "none" or o.classes > 0
local T = pooled and length("T", o.T) or o.T
local norm = {eps = o.layer_norm_eps}
local mask
if o.padding then
    mask = masks.padding(input("attention_mask", {o.B, o.T}, "i32", {fill = 1}))
end
local layer = {
    n_head = o.num_attention_heads, mask = mask, how = {softmax = mask and nn.safe_softmax},
    names = {q = "self.query", k = "self.key", v = "self.value", out = "output.dense"},
}

local function block(x)
    return transformer.post_norm_block(x,
        function(x) return (scope("attention", attention.separate, x, layer)) end,
        function(x) return (scope("attention.output.LayerNorm", nn.layer_norm, x, norm)) end,
        function(x)
            return (transformer.feed_forward(x, {
                d_ff = o.intermediate_size, act = huggingface.activation(o.hidden_act),
                project = nn.linear, in_name = "intermediate.dense", out_name = "output.dense"}))
        end,
        function(x) return (scope("output.LayerNorm", nn.layer_norm, x, norm)) end)
end

prefix(o.name_prefix)
local ids = input("ids", {o.B, T}, "i32")
local types = input("token_type_ids", {o.B, T}, "i32", {fill = 0}) -- which of two texts
local C = o.hidden_size
local x = scope("embeddings.word_embeddings", nn.embedding, ids, o.vocab_size, C, 0.02)
    + scope("embeddings.token_type_embeddings", nn.embedding, types, o.type_vocab_size, C, 0.02)
x = scope("embeddings.position_embeddings", nn.learned_positions, x, o.max_position_embeddings, 0.02)
x = scope("embeddings.LayerNorm", nn.layer_norm, x, norm)
x = transformer.stack(x, "encoder.layer", o.num_hidden_layers, block)
if o.classes > 0 then
    local first = embedding.pool(x, T, "cls"):reshape{1, C}
    first = tanh(scope("pooler.dense", nn.linear, first, C))
    return {logits = scope("classifier", nn.linear, first, o.classes):reshape{o.classes}}
end
if pooled then
    return {embedding = embedding.vector(x, T, o)}
end
if not o.pooler then return {last_hidden_state = x} end

local first = x:slice({0, 0, 0}, {o.B, 1, C}):reshape{o.B, C}
return {last_hidden_state = x, pooler_output = tanh(scope("pooler.dense", nn.linear, first, C))}
