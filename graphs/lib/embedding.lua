-- Computes one vector for a text from the vectors of its tokens (Reimers, Gurevych: Sentence-BERT, 2019).

local nn = require "nn"

local embedding = {}

-- Kinds of pooling, by the values of an option `pooling`; the names are those of sentence-transformers.
embedding.poolings = {"none", "cls", "mean", "max", "mean_sqrt_len_tokens", "weightedmean", "lasttoken"}

-- By kind of pooling: a function from the rows [T, C] of n tokens, n an i32 tensor, to a vector [1, C].
local pools = {
    cls = function(rows) return gather(rows, iota({1}, 1)) end,
    lasttoken = function(rows, n) return gather(rows, reshape(n - 1, {1})) end,
    mean = function(rows, n) return sum(rows, 1) / float(n) end,
    mean_sqrt_len_tokens = function(rows, n) return sum(rows, 1) / sqrt(float(n)) end,
    max = function(rows) return max(rows, 1) end,
    weightedmean = function(rows, n)
        local weights = float(iota({n}, 1)) + 1
        return sum(rows * weights:reshape{n, 1}, 1) / sum(weights, 1)
    end,
}

-- Rows [n, 1]: true for tokens after the first `skip`.
local function is_behind(n, skip) return ge(iota({n}, 1), skip):reshape{n, 1} end

-- Returns a sum of rows divided by a sum of weights; zeros if the weights are 0.
local function divided(rows, weights) return rows / maximum(weights, 1e-9) end

-- The same kinds for the rows after the first `skip`.  If there are none, cls is the first row, max is -infinity,
-- and the other kinds are zeros.
local later_pools = {
    cls = function(rows, n, skip) return gather(rows, reshape(int(gt(n, skip)) * skip, {1})) end,
    lasttoken = function(rows, n, skip) return where(gt(n, skip), pools.lasttoken(rows, n), 0) end,
    mean = function(rows, n, skip)
        return divided(sum(where(is_behind(n, skip), rows, 0), 1), float(n - skip))
    end,
    mean_sqrt_len_tokens = function(rows, n, skip)
        return sum(where(is_behind(n, skip), rows, 0), 1) / sqrt(maximum(float(n - skip), 1e-9))
    end,
    max = function(rows, n, skip) return max(where(is_behind(n, skip), rows, -math.huge), 1) end,
    weightedmean = function(rows, n, skip)
        local weights = where(is_behind(n, skip), float(iota({n, 1}, 1)) + 1, 0)
        return divided(sum(rows * weights, 1), sum(weights, 1))
    end,
}

-- Pools x [1, n, C], where n is a length, to a vector [C]; ignores the first `skip` tokens, such as a prompt's.
function embedding.pool(x, n, how, skip)
    local C = x:size(-1)
    local rows = x:reshape{n, C}
    if not skip or skip == 0 then return pools[how](rows, n):reshape{C} end
    return later_pools[how](rows, n, skip):reshape{C}
end

-- Scales a vector to length 1; zeros stay zeros.
function embedding.normalize(v)
    return v / maximum(sqrt(sum(v * v, 1)), 1e-12)
end

-- Splits "a b c" into {"a", "b", "c"}; the separator is any one character.
local function split(text, separator)
    local list, start = {}, 1
    for i = 1, #text + 1 do
        if i > #text or text:sub(i, i) == separator then
            if i > start then table.insert(list, text:sub(start, i - 1)) end
            start = i + 1
        end
    end
    return list
end

-- Activations by the names of PyTorch's classes.
local activations = {
    GELU = nn.gelu, Identity = function(x) return x end, ReLU = nn.relu, SiLU = nn.silu,
    Sigmoid = sigmoid, Tanh = tanh,
}

-- Applies a Dense of sentence-transformers, a list from "FOLDER IN OUT ACTIVATION BIAS".  A further item
-- "residual" adds the vector itself, by way of a matrix if the sizes differ.
local function dense(v, module)
    local name, width, size, act, bias, residual = unpack(module)
    if tonumber(width) ~= v:size(1) then
        error(name .. "/config.json: found in_features " .. width .. ", expected " .. v:size(1) ..
            ", the size of the vector before it")
    end
    if not activations[act] then
        error(name .. "/config.json: found the activation " .. act ..
            ", expected GELU, Identity, ReLU, SiLU, Sigmoid or Tanh")
    end
    size = tonumber(size)
    local row = v:reshape{1, v:size(1)}
    local y = activations[act](scope(name .. ".linear", nn.linear, row, size, bias == "true"))
    if residual then
        y = y + (v:size(1) == size and row or scope(name .. ".residual", nn.linear, row, size, false))
    end
    return y:reshape{size}
end

-- Applies a LayerNorm of sentence-transformers, a list from "LayerNorm FOLDER DIMENSION".
local function layer_norm(v, module)
    local _, name, dimension = unpack(module)
    if tonumber(dimension) ~= v:size(1) then
        error(name .. "/config.json: found dimension " .. dimension .. ", expected " .. v:size(1) ..
            ", the size of the vector before it")
    end
    return scope(name .. ".norm", nn.layer_norm, v, {eps = 1e-5})
end

-- The vector of x [1, n, C]: pooled, then through o.modules, "2_Dense 384 256 Tanh true,Normalize" and so
-- on, as modules.json lists them, whose parameters lie in folders of these names; its length is 1 with
-- o.normalize. "+ max" in front of them appends another pooling; "Truncate 256" keeps the first 256 numbers.
-- "Prompt 5" before all others leaves the first 5 tokens out of the pooling.
function embedding.vector(x, n, o)
    local modules, skip = split(o.modules, ","), 0
    if modules[1] and modules[1]:sub(1, 7) == "Prompt " then
        skip = tonumber(table.remove(modules, 1):sub(8))
    end
    local v = embedding.pool(x, n, o.pooling, skip)
    prefix("")
    for _, text in ipairs(modules) do
        local module = split(text, " ")
        if module[1] == "+" then
            v = concat({v, embedding.pool(x, n, module[2], skip)}, 1)
        elseif module[1] == "Truncate" then
            v = v:slice({0}, {math.min(tonumber(module[2]), v:size(1))})
        elseif #module == 1 then
            v = embedding.normalize(v)
        else
            v = (#module == 3 and layer_norm or dense)(v, module)
        end
    end
    return o.normalize and embedding.normalize(v) or v
end

-- ---- decoders ----

-- Options of a decoder that embeds and classifies, too: see embedding.ids and embedding.of_decoder.
embedding.options = {
    pooling = embedding.poolings, modules = "", normalize = false,
    classes = 0,       -- of a head for classification
    pad_token_id = "", -- which is no last token for such a head
    score = "",        -- "YES,NO" or "YES", the tokens of a reranker
}

-- True if a model returns one vector, logits or a score for a text, whose length is known only in a run.
function embedding.is_whole(o)
    return o.pooling ~= "none" or o.classes > 0 or o.score ~= ""
end

-- Returns the input ids [B, n] and n: o.T or, if there is one vector for a text, a length of up to o.T.
function embedding.ids(o)
    local n = o.T
    if embedding.is_whole(o) then n = length("T", o.T) end
    return input("ids", {o.B, n}, "i32"), n
end

-- The logits of o.classes by the vector of the last token that is no padding (transformers'
-- ...ForSequenceClassification).
local function classify(x, ids, n, o)
    local C, last, pad = x:size(-1), n - 1, tonumber(o.pad_token_id)
    if pad then
        last = max(where(ne(ids:reshape{n}, pad), iota({n}, 1), 0), 1)
    end
    local row = gather(x:reshape{n, C}, last:reshape{1})
    return scope("score", nn.linear, row, o.classes, false):reshape{o.classes}
end

-- The score [1] of a reranker (sentence-transformers' LogitScore): how much likelier one token is than another
-- after the last one, as the difference of their logits; or the logit of a single token.
local function score(x, n, o, logits)
    local C, words, tokens = x:size(-1), split(o.score, ","), {}
    if #words < 1 or #words > 2 then
        error("option score: found '" .. o.score .. "', expected the ids of one or two tokens")
    end
    for i, word in ipairs(words) do
        local id = tonumber(word)
        if not id or id < 0 or id >= o.vocab_size or id % 1 ~= 0 then
            error("option score: found '" .. word .. "', expected an id from 0 to " .. o.vocab_size - 1)
        end
        tokens[i] = iota({1}, 1) + id
    end
    local last = gather(x:reshape{n, C}, reshape(n - 1, {1})):reshape{1, 1, C}
    local y = logits(last, concat(tokens, 1)):reshape{#words}
    return #words == 1 and y or slice(y, {0}, {1}) - slice(y, {1}, {1})
end

-- Returns the result of a decoder for x [B, n, C], the vectors of its ids: one vector if o.pooling is set, logits
-- of classes if o.classes is, a score if o.score is, else logits(x, tokens), the logits that the caller's
-- function computes: of all tokens or, if `tokens`, an i32 tensor, is given, of those.
function embedding.of_decoder(x, ids, n, o, logits)
    if o.score ~= "" then return {logits = score(x, n, o, logits)} end
    if o.classes > 0 then return {logits = classify(x, ids, n, o)} end
    if o.pooling ~= "none" then return {embedding = embedding.vector(x, n, o)} end
    return {logits = logits(x)}
end

return embedding
