-- SqueezeBERT (Iandola et al., 2020): a BERT whose layers are convolutions of width 1 in groups, each of which sees a
-- part of a vector.  Names are Hugging Face's (SqueezeBertModel; of models with a head, --set
-- name_prefix=transformer.).

local nn, attention = require "nn", require "attention"
local encoder, huggingface, transformer = require "encoder", require "huggingface", require "transformer"

local o = options(encoder.options {
    model_type = {"squeezebert"},
    type_vocab_size = 2, embedding_size = 768, position_embedding_type = {"absolute"},
    q_groups = 4, k_groups = 4, v_groups = 4,
    post_attention_groups = 1, intermediate_groups = 4, output_groups = 4,
}, huggingface.keys({}, true), huggingface.sizes)

if o.embedding_size ~= o.hidden_size then
    error("found embedding_size " .. o.embedding_size .. ", expected " .. o.hidden_size .. ", the hidden_size")
end

local texts = encoder.texts(o, o.max_position_embeddings)
texts.types = encoder.types(o, texts)

-- x [B, T, C] to [B, T, size]: group i of n makes its part of the result of its part of x.
local function grouped(x, size, n)
    local C = x:size(-1)
    local weight = param("weight", {size, C / n, 1}, {normal = 0.02}):reshape{1, n, size / n, C / n}
    local y = matmul(attention.split_heads(x, n), weight:transpose(3, 4))
    return attention.merge_heads(y) + param("bias", {size}, {fill = 0})
end

local function attend(x)
    local function heads(name, groups)
        return (attention.split_heads(scope(name, grouped, x, o.hidden_size, groups), o.num_attention_heads))
    end
    local q, k, v = heads("query", o.q_groups), heads("key", o.k_groups), heads("value", o.v_groups)
    return attention.merge_heads(attention.attend(q, k, v, texts.mask, nil,
        {softmax = texts.mask and nn.safe_softmax}))
end

local act = huggingface.activation(o.hidden_act)

-- A layer, its input `x` of the block added, and a norm.
local function add_and_norm(name, y, x, groups)
    y = scope(name .. ".conv1d", grouped, y, o.hidden_size, groups)
    return (scope(name .. ".layernorm", nn.layer_norm, y + x, {eps = 1e-12}))
end

local function block(x)
    x = add_and_norm("post_attention", scope("attention", attend, x), x, o.post_attention_groups)
    local y = act(scope("intermediate.conv1d", grouped, x, o.intermediate_size, o.intermediate_groups))
    return add_and_norm("output", y, x, o.output_groups)
end

prefix(o.name_prefix)
local x = scope("embeddings", encoder.embeddings, texts, o, o.hidden_size)
x = transformer.stack(x, "encoder.layers", o.num_hidden_layers, block)
return encoder.outputs(x, o, texts, {
    pooler = encoder.pooler("pooler.dense"),
    words = encoder.word_head(o, o.hidden_size, act, {
        dense = "cls.predictions.transform.dense", norm = "cls.predictions.transform.LayerNorm",
        decoder = "cls.predictions.decoder", bias = "cls.predictions.bias"}),
})
