-- MobileBERT (Sun et al., 2020): a thin BERT whose blocks attend and feed forward in fewer numbers than they pass on,
-- several times forward after attention; norms without a mean and a variance; a word is seen with its neighbours.
-- Names are Hugging Face's (MobileBertModel; of models with a head, --set name_prefix=mobilebert.).

local nn, attention = require "nn", require "attention"
local encoder, huggingface, transformer = require "encoder", require "huggingface", require "transformer"

local o = options(encoder.options {
    model_type = {"mobilebert"},
    hidden_size = 512, intermediate_size = 512, num_hidden_layers = 24, num_attention_heads = 4,
    hidden_act = huggingface.activations("relu"), type_vocab_size = 2,
    position_embedding_type = {"absolute"},
    embedding_size = 128, trigram_input = true,
    use_bottleneck = {"true"}, intra_bottleneck_size = 128, -- the numbers inside of a block
    use_bottleneck_attention = false, -- whether values come of the narrow vectors, too, and queries of the same ones
    key_query_shared_bottleneck = {"true"},
    num_feedforward_networks = 4, normalization_type = {"no_norm", "layer_norm"},
    classifier_activation = true, -- whether the pooler has a layer
}, huggingface.keys({"true_hidden_size"}, true), huggingface.sizes)

local texts = encoder.texts(o, o.max_position_embeddings)
local act, width = huggingface.activation(o.hidden_act), o.intra_bottleneck_size
texts.types = encoder.types(o, texts)

-- x * weight + bias
local function scaled(x)
    local C = x:size(-1)
    return x * param("weight", {C}, {fill = 1}) + param("bias", {C}, {fill = 0})
end

local function norm(name, x, eps)
    if o.normalization_type == "no_norm" then return (scope(name, scaled, x)) end
    return (scope(name, nn.layer_norm, x, {eps = eps or o.layer_norm_eps}))
end

-- A layer to `size` numbers and a norm, with `more` added between if it is given.
local function layer(name, x, size, more, eps)
    local y = scope(name .. ".dense", nn.linear, x, size)
    return norm(name .. ".LayerNorm", more and y + more or y, eps)
end

local function embed()
    local x = scope("word_embeddings", nn.embedding, texts.ids, o.vocab_size, o.embedding_size, 0.02)
    if o.trigram_input then
        x = concat({encoder.shifted(x, 1, texts), x, encoder.shifted(x, -1, texts)}, 3)
    end
    if o.trigram_input or o.embedding_size ~= o.hidden_size then
        x = scope("embedding_transformation", nn.linear, x, o.hidden_size)
    end
    x = scope("position_embeddings", nn.learned_positions, x, o.max_position_embeddings, 0.02)
    x = x + scope("token_type_embeddings", nn.embedding, texts.types, o.type_vocab_size, o.hidden_size, 0.02)
    return norm("LayerNorm", x, 1e-5)
end

-- Queries and keys come of x, values of y.
local function attend(x, y)
    local function heads(name, of)
        return (attention.split_heads(scope(name, nn.linear, of, width), o.num_attention_heads))
    end
    return (attention.merge_heads(attention.attend(heads("query", x), heads("key", x), heads("value", y),
        texts.mask, nil, {softmax = texts.mask and nn.safe_softmax})))
end

local function feed_forward(name, x, eps)
    local y = act(scope(name .. "intermediate.dense", nn.linear, x, o.intermediate_size))
    return layer(name .. "output", y, width, x, eps)
end

local function block(x)
    local narrow = layer("bottleneck.input", x, width)
    local y = o.use_bottleneck_attention and scope("attention.self", attend, narrow, narrow)
        or scope("attention.self", attend, layer("bottleneck.attention", x, width), x)
    y = layer("attention.output", y, width, narrow)
    for i = 1, o.num_feedforward_networks - 1 do y = feed_forward("ffn." .. i - 1 .. ".", y) end
    return layer("output.bottleneck", feed_forward("", y, 1e-5), o.hidden_size, x)
end

-- The logits of words: the table of words for the first numbers of a vector, and one of its own for the others.
local function words(x)
    local B, T, C = unpack(x.shape)
    local E, V = o.embedding_size, o.vocab_size
    x = act(scope("cls.predictions.transform.dense", nn.linear, x, C))
    x = scope("cls.predictions.transform.LayerNorm", nn.layer_norm, x, {eps = o.layer_norm_eps})
    prefix(o.name_prefix)
    local logits = scope("embeddings.word_embeddings", nn.tied_head, x:slice({0, 0, 0}, {B, T, E}), V, 0.02)
    prefix("")
    if C > E then
        local rest = x:slice({0, 0, E}, {B, T, C - E})
        logits = logits + matmul(rest, param("cls.predictions.dense.weight", {C - E, V}, {normal = 0.02}))
    end
    return logits + param("cls.predictions.bias", {V}, {fill = 0})
end

prefix(o.name_prefix)
local x = transformer.stack(scope("embeddings", embed), "encoder.layer", o.num_hidden_layers, block)
return encoder.outputs(x, o, texts, {
    pooler = o.classifier_activation and encoder.pooler("pooler.dense") or function(first) return first end,
    words = words,
})
