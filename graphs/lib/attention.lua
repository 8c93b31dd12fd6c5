-- Attention: which token looks at which, and what it takes over
-- (Vaswani et al.: Attention Is All You Need, 2017).

local nn = require "nn"

local attention = {}

-- The width of a head, if the embedding divides into that many.
function attention.head_size(n_embd, n_head)
    if n_head < 1 or n_embd % n_head ~= 0 then
        error("n_embd " .. n_embd .. " is not divisible by n_head " .. n_head)
    end
    return n_embd / n_head
end

-- [T, T], true where the query (row) may see the key (column): itself and the past.
function attention.causal_mask(T)
    return le(iota({T, T}, 2), iota({T, T}, 1))
end

-- Attention(Q, K, V) = softmax(Q K^T / sqrt(d)) V.  A score the mask forbids is -inf,
-- so its probability is 0; without a mask every token sees every token.  `drop`, if there
-- is one, is done to the probabilities.
function attention.attend(q, k, v, mask, drop)
    local scores = matmul(q, k:transpose(-2, -1)) * (1 / math.sqrt(q:size(-1)))
    if mask then scores = where(mask, scores, -math.huge) end
    tap("scores", scores)
    local probs = tap("probs", nn.softmax(scores))
    if drop then probs = drop(probs) end
    return matmul(probs, v)
end

-- [B, T, H d] to [B, H, T, d]: each head a matrix of its own.
function attention.split_heads(x, n_head)
    local B, T, C = unpack(x.shape)
    return x:reshape{B, T, n_head, C / n_head}:transpose(2, 3)
end

-- [B, H, T, d] back to [B, T, H d].
function attention.merge_heads(x)
    local B, H, T, d = unpack(x.shape)
    return x:transpose(2, 3):reshape{B, T, H * d}
end

-- The i-th of n equal parts of the last axis, from 0.
local function part(x, i, n)
    local B, T, C = unpack(x.shape)
    return x:slice({0, 0, i * C / n}, {B, T, C / n})
end

-- Multi-head self-attention with one projection to Q, K and V together:
-- MultiHead(x) = Concat(head_1, ..., head_h) W_O.
-- config: n_head, mask (or none), drop (of probabilities, or none), project = nn.linear or
-- nn.conv1d, bias, and the names of the two projections.
function attention.fused(x, config)
    local C = x:size(-1)
    attention.head_size(C, config.n_head)
    local qkv = scope(config.qkv_name, config.project, x, 3 * C, config.bias)
    local q = tap("q", attention.split_heads(part(qkv, 0, 3), config.n_head))
    local k = tap("k", attention.split_heads(part(qkv, 1, 3), config.n_head))
    local v = tap("v", attention.split_heads(part(qkv, 2, 3), config.n_head))
    local y = tap("y", attention.merge_heads(attention.attend(q, k, v, config.mask, config.drop)))
    return (scope(config.out_name, config.project, y, C, config.bias))
end

-- One head with its own projections, [B, T, n_embd] to [B, T, size].
local function head(x, size, config)
    local k = scope("key", nn.linear, x, size, false)
    local q = scope("query", nn.linear, x, size, false)
    local v = scope("value", nn.linear, x, size, false)
    return attention.attend(q, k, v, config.mask, config.drop)
end

-- The same with a projection a head: heads.0.key, heads.0.query, ... and proj.
-- config: n_head, mask (or none), drop (of probabilities, or none).
function attention.of_heads(x, config)
    local C = x:size(-1)
    local size = attention.head_size(C, config.n_head)
    local heads = {}
    for i = 0, config.n_head - 1 do
        table.insert(heads, (scope("heads." .. i, head, x, size, config)))
    end
    local y = tap("y", concat(heads, -1))
    return (scope("proj", nn.linear, y, C))
end

return attention
