-- A pre-norm block that spells everything in its own way: the variance as
-- E[x^2] - E[x]^2, a prefix mask by arithmetic on the scores, softmax without naming it,
-- GELU by the logistic function, weights [in, out] in one matrix per head.

local o = options {B = 2, T = 10, n_embd = 20, n_head = 2, prefix_length = 3}
local C, d = o.n_embd, o.n_embd / o.n_head

local function normalise(x, name)
    local mean = sum(x, 3) / C
    local variance = sum(x ^ 2, 3) / C - mean ^ 2
    local gain = param(name .. ".gain", {1, 1, C}, {fill = 1})
    return (x - mean) * (variance + 1e-5) ^ -0.5 * gain + param(name .. ".offset", {C})
end

-- The first tokens see each other, the rest look back only: 0 where allowed, -1e9 where not.
local function bias(T)
    local query, key = iota({T, T}, 1), iota({T, T}, 2)
    local hidden = logical_and(logical_not(le(key, query)), ge(key, o.prefix_length))
    return where(hidden, const(-1e9, {}), 0)
end

local function heads(x, name)
    return matmul(x:reshape{o.B, 1, o.T, C}, param(name, {o.n_head, C, d}, {normal = 0.2}))
end

local function attend(x)
    local q, k, v = heads(x, "query"), heads(x, "key"), heads(x, "value")
    local weight = matmul(q, permute(k, {1, 2, 4, 3})) / math.sqrt(d) + bias(o.T)
    weight = exp(weight - max(weight, -1))
    weight = tap("weight", weight / sum(weight, -1))
    local out = param("out", {o.n_head, d, C}, {normal = 0.2})
    return sum(matmul(matmul(weight, v), out), 2, false)
end

local function gelu_logistic(x)
    return x * (1 / (1 + exp(-1.702 * x)))
end

local function feed_forward(x)
    local inner = gelu_logistic(matmul(x, param("up", {C, 3 * C}, {normal = 0.2})))
    return matmul(inner, param("down", {3 * C, C}, {normal = 0.2}))
end

local x = input("x", {o.B, o.T, C})
local a = x + scope("attn", attend, normalise(x, "norm1"))
local y = a + scope("ffn", feed_forward, normalise(a, "norm2"))
return {y = y}
