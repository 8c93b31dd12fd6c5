-- A block in the manner of LLaMA, spelled out from primitives: token embedding, RMS
-- norm, attention to a sliding window, SwiGLU.  Nothing of graphs/lib is used.

local o = options {
    B = 1, T = 16, n_embd = 32, n_head = 2, vocab = 50,
    window = 4, -- a token sees itself and the three before it
    d_ff = 48,
}

-- x / sqrt(mean(x^2) + eps) * g
local function rms_norm(x)
    local n = x:size(-1)
    local mean_square = sum(x * x, -1) * (1 / n)
    return x / sqrt(mean_square + 1e-6) * param("weight", {n}, {fill = 1})
end

-- Weights [in, out], no bias.
local function project(x, n_out)
    return matmul(x, param("weight", {x:size(-1), n_out}, {normal = 0.2}))
end

-- silu(x) = x / (1 + exp(-x))
local function silu(x)
    return x / (1 + exp(-x))
end

-- query - window < key <= query
local function window_mask(T, window)
    local query, key = iota({T, T}, 1), iota({T, T}, 2)
    return logical_and(ge(query, key), lt(query - key, window))
end

-- One head; the scores are shifted by their maximum with minimum and neg, and scaled
-- on the query's side.
local function head(x, size)
    local q = scope("q", project, x, size) * size ^ -0.5
    local k = scope("k", project, x, size)
    local v = scope("v", project, x, size)
    local scores = where(window_mask(o.T, o.window), matmul(q, k:transpose(2, 3)), -1e30)
    local e = exp(scores + -max(scores, 3))
    return matmul(e * (1 / sum(e, 3)), v)
end

local function attention(x)
    local heads = {}
    for i = 1, o.n_head do
        heads[i] = scope("head." .. i, head, x, o.n_embd / o.n_head)
    end
    return (scope("out", project, concat(heads, 3), o.n_embd))
end

local function swiglu(x)
    local gate = silu(scope("gate", project, x, o.d_ff))
    return (scope("down", project, gate * scope("up", project, x, o.d_ff), o.n_embd))
end

local tokens = input("tokens", {o.B, o.T}, "i32")
local x = gather(param("embedding", {o.vocab, o.n_embd}, {normal = 1}), tokens)
x = x + scope("attn", attention, scope("norm1", rms_norm, x))
x = x + scope("ffn", swiglu, scope("norm2", rms_norm, x))
return {y = x, last = x:slice({0, o.T - 1, 0}, {o.B, 1, o.n_embd}):reshape{o.B, o.n_embd}}
