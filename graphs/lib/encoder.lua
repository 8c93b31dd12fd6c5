-- Encoders of texts in which every token sees every other one, such as BERT (Devlin et al., 2019): options,
-- inputs, embeddings, blocks, heads and outputs.  Options and parameters have Hugging Face's names.

local nn = require "nn"
local attention, embedding, huggingface = require "attention", require "embedding", require "huggingface"
local masks, transformer = require "masks", require "transformer"

local encoder = {}

-- Returns the options that all encoders have, with the family's own options and defaults, `own`, added.
function encoder.options(own)
    return huggingface.merge({
        B = 1, T = 16, -- texts, tokens
        vocab_size = 30522, max_position_embeddings = 512,
        hidden_size = 768, intermediate_size = 3072, num_hidden_layers = 12, num_attention_heads = 12,
        hidden_act = huggingface.activations("gelu"), layer_norm_eps = 1e-12,
        tie_word_embeddings = true,   -- the head that predicts words has the table of the embedding
        is_decoder = {"false"}, is_causal = {"false"}, add_cross_attention = {"false"},
        padding = false, -- whether there is an input attention_mask [B, T], 0 for padding
        pooler = true,   -- whether there is the vector for all of a text, if the family has one
        pooling = embedding.poolings, -- not "none": one vector for a text of up to T tokens is all that is returned
        modules = "", normalize = false, -- as embedding.vector takes them
        classes = 0,       -- of a head for classes of texts, whose logits are all that is returned then
        token_classes = 0, -- the same of tokens
        masked_lm = false, -- the same of words, in the place of each token
        name_prefix = "",  -- before every parameter's name but those of these heads
    }, own)
end

-- The inputs for texts of up to `most` tokens, of which the model has positions: ids [B, T] and, if there is
-- padding, mask.  T is a length if there is one text, of which one vector is made; n is T for arithmetic in f32.
function encoder.texts(o, most)
    local T, alone, present = o.T, o.B == 1 and not o.padding, nil
    if o.pooling ~= "none" and not alone then
        error("pooling " .. o.pooling .. " of " .. o.B .. " texts" .. (o.padding and " with padding" or "") ..
            ", expected one without padding")
    end
    if alone and (o.pooling ~= "none" or o.classes > 0) then
        T = length("T", math.min(T, most))
    elseif T > most then
        error("found " .. T .. " tokens, expected at most " .. most .. ", the number of positions")
    end
    if o.padding then present = input("attention_mask", {o.B, T}, "i32", {fill = 1}) end
    local n = type(T) == "number" and T or float(T)
    return {T = T, n = n, ids = input("ids", {o.B, T}, "i32"), mask = present and masks.padding(present)}
end

-- The input that says to which of two texts a token belongs, i32 [B, T]; zeros if no file is given.
function encoder.types(o, texts)
    return input("token_type_ids", {o.B, texts.T}, "i32", {fill = 0})
end

-- i32 [B, T]: positions counted from pad + 1; padding has the position `pad`, also inside a text.
function encoder.positions_past(pad, ids)
    local there = int(ne(ids, pad))
    return cumsum(there, 2) * there + pad
end

-- [B, T, size]: the vectors of words, of texts.types if there are any, of texts.positions or else of 0, 1, ... (none
-- if texts.positions is false), and of texts.tasks if there are any, added and normalised.
function encoder.embeddings(texts, o, size)
    local x = scope("word_embeddings", nn.embedding, texts.ids, o.vocab_size, size, 0.02)
    if texts.types then
        x = x + scope("token_type_embeddings", nn.embedding, texts.types, o.type_vocab_size, size, 0.02)
    end
    if texts.positions then
        x = x + scope("position_embeddings", nn.embedding, texts.positions, o.max_position_embeddings, size, 0.02)
    elseif texts.positions == nil then
        x = scope("position_embeddings", nn.learned_positions, x, o.max_position_embeddings, 0.02)
    end
    if texts.tasks then
        x = x + scope("task_type_embeddings", nn.embedding, texts.tasks, o.task_type_vocab_size, size, 0.02)
    end
    return (scope("LayerNorm", nn.layer_norm, x, {eps = o.layer_norm_eps}))
end

-- Shifts x [B, T, C] along the tokens: row t becomes row t + by, or zeros if the text has no such token.
function encoder.shifted(x, by, texts)
    local T = texts.T
    local at, last = iota({T}, 1) + by, iota({T}, 1) * 0 + T - 1
    local there = logical_and(ge(at, 0), le(at, last)):reshape{T, 1, 1}
    return where(there, gather(x:permute{2, 1, 3}, maximum(minimum(at, last), 0)), 0):permute{2, 1, 3}
end

-- The names of a block's parameters, as BERT has them.
encoder.bert_names = {
    attention = {q = "self.query", k = "self.key", v = "self.value", out = "output.dense"},
    attention_norm = "attention.output.LayerNorm",
    inner = "intermediate.dense", outer = "output.dense", outer_norm = "output.LayerNorm",
}

-- Returns a block's layers: attention as a config of attention.separate, the feed-forward as a function.
local function layers_of(o, texts, names, bias, position)
    return {
        n_head = o.num_attention_heads, mask = texts.mask, names = names.attention, position = position,
        how = {bias = bias, softmax = texts.mask and nn.safe_softmax},
    }, function(x)
        local config = {d_ff = o.intermediate_size, in_name = names.inner, out_name = names.outer}
        if names.glu then
            config.glu, config.bias, config.out_bias = names.glu, false, true
            return (transformer.packed_feed_forward(x, config))
        end
        config.act = huggingface.activation(o.hidden_act)
        return (transformer.feed_forward(x, config))
    end
end

-- A post-norm block as a function of its input.  names: like encoder.bert_names, and names.glu, a gated linear unit,
-- if the feed-forward is packed and gated, its first layer without a bias; bias: added to the scores of attention,
-- or none; position: what is done to queries and keys, as attention.separate takes it, or none.
function encoder.block(o, texts, names, bias, position)
    local norm = {eps = o.layer_norm_eps}
    local layer, feed_forward = layers_of(o, texts, names, bias, position)
    return function(x)
        return transformer.post_norm_block(x,
            function(x) return (scope("attention", attention.separate, x, layer)) end,
            function(x) return (scope(names.attention_norm, nn.layer_norm, x, norm)) end,
            feed_forward,
            function(x) return (scope(names.outer_norm, nn.layer_norm, x, norm)) end)
    end
end

-- A block with the norms before attention and feed-forward: names.attention_norm and names.inner_norm.
function encoder.pre_norm_block(o, texts, names, bias, position)
    local function norm(name, x) return (scope(name, nn.layer_norm, x, {eps = o.layer_norm_eps})) end
    local layer, feed_forward = layers_of(o, texts, names, bias, position)
    return function(x)
        return transformer.block(x,
            function(x)
                return (scope("attention", attention.separate, norm(names.attention_norm, x), layer))
            end,
            function(x) return feed_forward(norm(names.inner_norm, x)) end)
    end
end

-- Returns a head: tanh of a linear layer on the vectors [B, C] of the first tokens.
function encoder.pooler(name)
    return function(first) return tanh(scope(name, nn.linear, first, first:size(-1))) end
end

-- Returns RoBERTa's head for classes: classifier.dense, an activation, and classifier.out_proj.
function encoder.two_layers(act)
    return function(first, classes)
        local y = act(scope("classifier.dense", nn.linear, first, first:size(-1)))
        return (scope("classifier.out_proj", nn.linear, y, classes))
    end
end

-- The head that predicts words: a layer to vectors of `size` numbers, act, a norm, and the table of words.
-- names: dense, norm and decoder of its parts, and bias, a parameter that counts if the table is that of the
-- embedding.
function encoder.word_head(o, size, act, names)
    return function(x)
        x = act(scope(names.dense, nn.linear, x, size))
        x = scope(names.norm, nn.layer_norm, x, {eps = o.layer_norm_eps})
        if not o.tie_word_embeddings then return (scope(names.decoder, nn.linear, x, o.vocab_size)) end
        prefix(o.name_prefix)
        local logits = scope("embeddings.word_embeddings", nn.tied_head, x, o.vocab_size, 0.02)
        prefix("")
        return logits + param(names.bias, {o.vocab_size}, {fill = 0})
    end
end

-- Returns the vectors [B, C] of the first tokens.
function encoder.first_of(x, texts)
    local B, C = x:size(1), x:size(-1)
    if type(texts.T) == "number" then return x:slice({0, 0, 0}, {B, 1, C}):reshape{B, C} end
    return embedding.pool(x, texts.T, "cls"):reshape{1, C}
end

-- Returns the means [B, C] of the vectors of all tokens that are not padding.
function encoder.mean_of(x, texts)
    local B, C = x:size(1), x:size(-1)
    if type(texts.T) ~= "number" then return embedding.pool(x, texts.T, "mean"):reshape{1, C} end
    if not texts.mask then return sum(x, 2, false) / texts.T end
    local there = float(texts.mask):reshape{B, texts.T, 1}
    return sum(x * there, 2, false) / sum(there, 2, false)
end

-- Returns logits [B, classes]; [classes] for one text of unknown length.
local function classify(x, o, texts, heads)
    local logits
    if heads.classes then
        prefix("")
        logits = heads.classes(x)
    else
        local first = encoder.first_of(x, texts)
        if not heads.classifier then
            if not heads.pooler then
                error("found classes = " .. o.classes .. " for a model without a classifier, expected 0")
            end
            first = heads.pooler(first)
        end
        prefix("")
        logits = heads.classifier and heads.classifier(first, o.classes)
            or scope("classifier", nn.linear, first, o.classes)
    end
    return type(texts.T) == "number" and logits or logits:reshape{o.classes}
end

-- Returns logits [B, T, classes] of the tokens.
local function classify_tokens(x, o, heads)
    return heads.tokens and heads.tokens(x) or scope("classifier", nn.linear, x, o.token_classes)
end

-- What a script returns of x [B, T, C], by its options.  heads are functions, each of which may be left out:
-- pooler, of the vectors [B, C] of first tokens; classifier, of these and the number of classes, where it is not
-- the pooler and a layer; classes, of x, in place of both; tokens, of x, where it is not a layer; words, of x,
-- such as encoder.word_head.
function encoder.outputs(x, o, texts, heads)
    if o.classes > 0 then return {logits = classify(x, o, texts, heads)} end
    if o.token_classes > 0 or o.masked_lm then
        prefix("")
        if o.masked_lm and not heads.words then
            error("found masked_lm = true for a model without a head for words, expected false")
        end
        return {logits = o.masked_lm and heads.words(x) or classify_tokens(x, o, heads)}
    end
    if o.pooling ~= "none" then
        return {embedding = embedding.vector(x, texts.T, o)}
    end
    if not o.pooler or not heads.pooler then return {last_hidden_state = x} end
    return {last_hidden_state = x, pooler_output = heads.pooler(encoder.first_of(x, texts))}
end

return encoder
