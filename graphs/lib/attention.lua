-- Attention layers: each token takes a weighted mean of the values of the tokens that it sees (Vaswani et al.:
-- Attention Is All You Need, 2017).

local nn, masks = require "nn", require "masks"

local attention = {}

-- Returns the width of a head; raises an error unless n_head divides n_embd.
function attention.head_size(n_embd, n_head)
    if n_head < 1 or n_embd % n_head ~= 0 then
        error("n_embd " .. n_embd .. " is not divisible by n_head " .. n_head)
    end
    return n_embd / n_head
end

attention.causal_mask = masks.causal

-- Logit soft-capping: cap tanh(s / cap), which is s near 0 and stays within -cap .. cap
-- (Gemma Team: Gemma 2, 2024).
function attention.soft_cap(s, cap)
    return cap * tanh(s / cap)
end

-- Attention(Q, K, V) = softmax(Q K^T / sqrt(d)) V.  The score of a key that
-- the mask hides is -inf, so its probability is 0; without a mask every token
-- sees every token.  `drop`, if given, is a function applied to the
-- probabilities.  `how`, if given, is a table of deviations: `scale` replaces
-- 1 / sqrt(d); `soft_cap` is a cap of the scores; `bias` is added to the
-- scores, for example masks.alibi; `softmax` replaces nn.softmax, for example
-- by nn.safe_softmax.
function attention.attend(q, k, v, mask, drop, how)
    how = layer_options("attention.attend", how or {}, {
        scale = "number|tensor?", soft_cap = "number|tensor?", bias = "tensor?",
        softmax = {"function", nn.softmax}})
    local scores = matmul(q, k:transpose(-2, -1)) * (how.scale or 1 / math.sqrt(q:size(-1)))
    if how.soft_cap then scores = attention.soft_cap(scores, how.soft_cap) end
    if how.bias then scores = scores + how.bias end
    if mask then scores = where(mask, scores, -math.huge) end
    tap("scores", scores)
    local probs = tap("probs", how.softmax(scores))
    if drop then probs = drop(probs) end
    return matmul(probs, v)
end

-- Grouped-query attention: q [B, H, T, d] has H heads, k and v [B, G, T, d] have G heads, each of which
-- H / G heads of queries share (Ainslie et al.: GQA, 2023).  G = 1 is multi-query attention (Shazeer:
-- Fast Transformer Decoding, 2019), G = H is ordinary attention.  The other arguments are as for
-- attend; a bias or a mask of scores is [H, T, T], or has four axes: [B, 1, T, T] is the same for all
-- heads.
function attention.grouped(q, k, v, mask, drop, how)
    local B, H, T, d = unpack(q.shape)
    local G, S = k:size(2), k:size(3)
    if G == H then return (attention.attend(q, k, v, mask, drop, how)) end
    if H % G ~= 0 then error("found " .. H .. " heads of queries, expected a multiple of the " .. G .. " of keys") end
    local each = {}
    for name, value in pairs(how or {}) do each[name] = value end
    if each.bias then
        local shape = each.bias.shape
        each.bias = each.bias:reshape(#shape == 4 and {shape[1], 1, 1, shape[3], shape[4]}
            or {G, H / G, T, S})
    end
    if mask and mask.rank == 4 then
        local shape = mask.shape
        mask = mask:reshape{shape[1], 1, 1, shape[3], shape[4]}
    end
    local y = attention.attend(q:reshape{B, G, H / G, T, d}, k:reshape{B, G, 1, S, d},
        v:reshape{B, G, 1, S, v:size(-1)}, mask, drop, each)
    return y:reshape{B, H, T, v:size(-1)}
end

-- Reshapes [B, T, H d] to [B, H, T, d]: one matrix for each head.
function attention.split_heads(x, n_head)
    local B, T, C = unpack(x.shape)
    return x:reshape{B, T, n_head, C / n_head}:transpose(2, 3)
end

-- Reshapes [B, H, T, d] back to [B, T, H d].
function attention.merge_heads(x)
    local B, H, T, d = unpack(x.shape)
    return x:transpose(2, 3):reshape{B, T, H * d}
end

-- Returns part i, counted from 0, of n equal parts of the last axis.
local function part(x, i, n)
    local B, T, C = unpack(x.shape)
    return x:slice({0, 0, i * C / n}, {B, T, C / n})
end

-- Multi-head self-attention with one projection to Q, K and V together:
-- MultiHead(x) = Concat(head_1, ..., head_h) W_O.
-- config: n_head, mask (or none), drop (of probabilities, or none), project = nn.linear or
-- nn.conv1d, bias, position (see separate), the names of the two projections, and how (see attend).
function attention.fused(x, config)
    local o = layer_options("attention.fused", config, {
        n_head = "size", mask = "tensor?", drop = "function?", how = "table?",
        project = {"function", nn.linear}, bias = {"boolean", true}, position = "function?",
        qkv_name = "string", out_name = "string"})
    local C = x:size(-1)
    attention.head_size(C, o.n_head)
    local qkv = scope(o.qkv_name, o.project, x, 3 * C, o.bias)
    local function heads(i) return (attention.split_heads(part(qkv, i, 3), o.n_head)) end
    local q, k, v = heads(0), heads(1), heads(2)
    if o.position then q, k = o.position(q), o.position(k) end
    local y = attention.attend(tap("q", q), tap("k", k), tap("v", v), o.mask, o.drop, o.how)
    y = tap("y", attention.merge_heads(y))
    return (scope(o.out_name, o.project, y, C, o.bias))
end

-- Multi-head self-attention with a projection each for Q, K and V, [B, T, C] to [B, T, C].
-- config: n_head, n_kv_head (n_head), head_size (C / n_head), bias (of the three), out_bias;
-- names of the parameters: {q, k, v, out, and q_norm and k_norm if there is a norm};
-- norm, for QK-norm: what is done to each head's queries and keys, or none (Henry et al.:
-- Query-Key Normalization for Transformers, 2020); position, such as rotary.halves: what is
-- done to them next, or none; mask, drop, how: see attend.
function attention.separate(x, config)
    local o = layer_options("attention.separate", config, {
        n_head = "size", n_kv_head = "size?", head_size = "size?", bias = {"boolean", true},
        out_bias = {"boolean", true}, names = "table", norm = "function?", position = "function?",
        mask = "tensor?", drop = "function?", how = "table?"})
    local names = layer_options("attention.separate: names", o.names, {
        q = "string", k = "string", v = "string", out = "string",
        q_norm = o.norm and "string" or "string?", k_norm = o.norm and "string" or "string?"})
    local C, H = x:size(-1), o.n_head
    local G, d = o.n_kv_head or H, o.head_size or attention.head_size(C, H)
    local function project(name, n)
        return (attention.split_heads(scope(name, nn.linear, x, n * d, o.bias), n))
    end
    local q, k, v = project(names.q, H), project(names.k, G), project(names.v, G)
    if o.norm then q, k = scope(names.q_norm, o.norm, q), scope(names.k_norm, o.norm, k) end
    if o.position then q, k = o.position(q), o.position(k) end
    local y = attention.grouped(tap("q", q), tap("k", k), tap("v", v), o.mask, o.drop, o.how)
    y = tap("y", attention.merge_heads(y))
    return (scope(names.out, nn.linear, y, C, o.out_bias))
end

-- One attention head with its own projections: [B, T, n_embd] to [B, T, size].
local function head(x, size, o)
    local k = scope("key", nn.linear, x, size, false)
    local q = scope("query", nn.linear, x, size, false)
    local v = scope("value", nn.linear, x, size, false)
    return attention.attend(q, k, v, o.mask, o.drop)
end

-- Multi-head self-attention with projections for each head: heads.0.key, heads.0.query, ... and proj. config:
-- n_head, mask (or none), drop (of probabilities, or none).
function attention.of_heads(x, config)
    local o = layer_options("attention.of_heads", config,
        {n_head = "size", mask = "tensor?", drop = "function?"})
    local C = x:size(-1)
    local size = attention.head_size(C, o.n_head)
    local heads = {}
    for i = 0, o.n_head - 1 do
        table.insert(heads, (scope("heads." .. i, head, x, size, o)))
    end
    local y = tap("y", concat(heads, -1))
    return (scope("proj", nn.linear, y, C))
end

return attention
