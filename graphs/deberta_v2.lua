-- DeBERTa v2 and v3 (He et al.: DeBERTa, 2021; DeBERTaV3, 2023), a BERT whose scores add what a token's query
-- and key say of the distance to the other token.  Names are Hugging Face's (DebertaV2Model; of models with a
-- head, --set name_prefix=deberta.).

local nn = require "nn"
local attention, encoder, huggingface = require "attention", require "encoder", require "huggingface"
local masks, transformer = require "masks", require "transformer"

local meanings = huggingface.keys({"pooler_dropout", "pooler_hidden_size"}, true)
local o = options(encoder.options {
    model_type = {"deberta-v2"},
    vocab_size = 128100, embedding_size = 0, type_vocab_size = 0, layer_norm_eps = 1e-7, -- 0: as hidden_size, none
    position_biased_input = true, relative_attention = false,
    max_relative_positions = -1, position_buckets = -1, -- as max_position_embeddings; a row for each distance
    pos_att_type = {"", "c2p", "p2c", "c2p|p2c", "p2c|c2p", "c2p,p2c", "p2c,c2p"},
    share_att_key = false, norm_rel_ebd = {"none", "layer_norm"},
    conv_kernel_size = 0, conv_groups = {"1"}, conv_act = huggingface.activations("tanh"),
    pooler_hidden_act = huggingface.activations("gelu"), legacy = true,
}, meanings, huggingface.merge(huggingface.sizes, {type_vocab_size = {0, 2 ^ 20}, embedding_size = {0, 2 ^ 20}}))

local C, H, norm = o.hidden_size, o.num_attention_heads, {eps = o.layer_norm_eps}
local d = attention.head_size(C, H)
local E = o.embedding_size > 0 and o.embedding_size or C
local texts = encoder.texts(o, o.position_biased_input and o.max_position_embeddings or math.huge)
local T = texts.T
local c2p = o.pos_att_type == "c2p" or #o.pos_att_type > 3 -- content to position
local p2c = o.pos_att_type == "p2c" or #o.pos_att_type > 3 -- position to content
local scale = 1 / math.sqrt(d * (1 + (c2p and 1 or 0) + (p2c and 1 or 0)))

-- A layer that may be used more than once.
local function layer_of(name)
    local weight, bias = param(name .. ".weight", {C, C}, {normal = 0.02}), param(name .. ".bias", {C}, {fill = 0})
    return function(x) return matmul(x, weight:transpose(1, 2)) + bias end
end

-- The rows [T, C] for the distances 0, 1, ... of a query behind the key, and of one before it.
local function relative_rows()
    local reach = o.max_relative_positions > 0 and o.max_relative_positions or o.max_position_embeddings
    local span = o.position_buckets > 0 and o.position_buckets or reach
    local rows = param("encoder.rel_embeddings.weight", {2 * span, C}, {normal = 0.02})
    if o.norm_rel_ebd == "layer_norm" then rows = scope("encoder.LayerNorm", nn.layer_norm, rows, norm) end
    local distance = iota({T}, 1)
    local buckets = masks.log_buckets(distance:size(1), span, o.position_buckets > 0 and reach)
    local function side(sign)
        local list = {}
        for i = 1, #buckets do list[i] = math.min(math.max(sign * buckets[i] + span, 0), 2 * span - 1) end
        return gather(rows, gather(const(list, {#list}, "i32"), distance))
    end
    return side(1), side(-1)
end

-- [B, H, T, T]: the products of queries x or, `by_key`, keys [B, H, T, d] with what `project` makes of the row for
-- the distance of query and key.  A matrix has those with the rows of all distances on one side; of it are taken
-- the elements at the distance.
local function by_distance(x, project, behind, before, by_key)
    local query, key = iota({T, T}, 1), iota({T, T}, 2)
    local away = abs(query - key):expand{o.B, H, T, T}
    local function side(rows)
        local keys = attention.split_heads(project(rows):reshape{1, T, C}, H)
        local taken = take(matmul(x, keys:transpose(3, 4)), away, 4)
        return by_key and taken:transpose(3, 4) or taken
    end
    return where(ge(query, key):reshape{1, 1, T, T}, side(behind), side(before))
end

-- Disentangled attention.
local function attend(x, behind, before)
    local of_query, of_key = layer_of("query_proj"), layer_of("key_proj")
    local q = tap("q", attention.split_heads(of_query(x), H))
    local k = tap("k", attention.split_heads(of_key(x), H))
    local v = tap("v", attention.split_heads(scope("value_proj", nn.linear, x, C), H))
    local products
    if behind and c2p then
        products = by_distance(q, o.share_att_key and of_key or layer_of("pos_key_proj"), behind, before)
    end
    if behind and p2c then
        local own = by_distance(k, o.share_att_key and of_query or layer_of("pos_query_proj"), behind, before, true)
        products = products and products + own or own
    end
    local bias = products and products * scale
    local y = attention.attend(q, k, v, texts.mask, nil, {
        scale = scale, bias = bias, softmax = texts.mask and nn.safe_softmax})
    return tap("y", attention.merge_heads(y))
end

local function block(x, behind, before)
    return transformer.post_norm_block(x,
        function(x)
            local y = scope("attention.self", attend, x, behind, before)
            return (scope("attention.output.dense", nn.linear, y, C))
        end,
        function(x) return (scope("attention.output.LayerNorm", nn.layer_norm, x, norm)) end,
        function(x)
            return (transformer.feed_forward(x, {
                d_ff = o.intermediate_size, act = huggingface.activation(o.hidden_act),
                in_name = "intermediate.dense", out_name = "output.dense"}))
        end,
        function(x) return (scope("output.LayerNorm", nn.layer_norm, x, norm)) end)
end

-- A convolution along the tokens x [B, T, C], beyond whose ends are zeros.
local function convolve(x)
    local size = o.conv_kernel_size
    local weight, y = param("weight", {C, C, size}, {normal = 0.02}), param("bias", {C}, {fill = 0})
    for i = 0, size - 1 do
        local moved = encoder.shifted(x, i - math.floor((size - 1) / 2), texts)
        y = matmul(moved, narrow(weight, 3, i, 1):reshape{C, C}:transpose(1, 2)) + y
    end
    return y
end

-- What the first layer adds to its output in the largest models of version 2.
local function convolution(x, output)
    local y = huggingface.activation(o.conv_act)(scope("conv", convolve, x))
    return (scope("LayerNorm", nn.layer_norm, output + y, norm))
end

prefix(o.name_prefix)
local x = scope("embeddings.word_embeddings", nn.embedding, texts.ids, o.vocab_size, E, 0.02)
if o.position_biased_input then
    x = scope("embeddings.position_embeddings", nn.learned_positions, x, o.max_position_embeddings, 0.02)
end
if o.type_vocab_size > 0 then
    local types = encoder.types(o, texts)
    x = x + scope("embeddings.token_type_embeddings", nn.embedding, types, o.type_vocab_size, E, 0.02)
end
if E ~= C then x = scope("embeddings.embed_proj", nn.linear, x, C, false) end
x = scope("embeddings.LayerNorm", nn.layer_norm, x, norm)
if o.conv_kernel_size > 0 and texts.mask then error("padding with conv_kernel_size, expected one or the other") end
local behind, before
if o.relative_attention then behind, before = relative_rows() end
for i = 1, o.num_hidden_layers do
    local input = x
    x = scope("encoder.layer." .. i - 1, block, x, behind, before)
    if i == 1 and o.conv_kernel_size > 0 then x = scope("encoder.conv", convolution, input, x) end
end

local words = o.legacy and {
    dense = "cls.predictions.transform.dense", norm = "cls.predictions.transform.LayerNorm",
    decoder = "cls.predictions.decoder", bias = "cls.predictions.bias",
} or {
    dense = "lm_predictions.lm_head.dense", norm = "lm_predictions.lm_head.LayerNorm",
    decoder = "lm_predictions.lm_head.decoder", bias = "lm_predictions.lm_head.bias",
}
return (encoder.outputs(x, o, texts, {
    classes = function(x)
        local first = scope("pooler.dense", nn.linear, encoder.first_of(x, texts), C)
        return (scope("classifier", nn.linear, huggingface.activation(o.pooler_hidden_act)(first), o.classes))
    end,
    words = encoder.word_head(o, E, huggingface.activation(o.hidden_act), words),
}))
