-- What a way to attend adds to plain attention for each score, or for each element of queries and
-- keys, on data that stays in a cache: tests/variants.py measures what it costs.
local o = options {
    rows = 64, columns = 256,
    work = {
        "add", "softcap", "prefix", "position", "padding", "segments", "segmentsFull", "exp",
        "sigmoid", "sigmoidBias", "relu", "norm", "rotate", "normRotate",
    },
}
local R, C = o.rows, o.columns
local x = input("x", {R, C})
local query, key = iota({R, C}, 1), iota({R, C}, 2)
local causal = le(key, query)

local function hide(mask) return where(mask, x, -math.huge) end
local function same(f)
    return eq(f(input("q", {R}, "i32", {fill = 1}):reshape{R, 1}),
        f(input("k", {C}, "i32", {fill = 1}):reshape{1, C}))
end
local function as_is(u) return u end
local function norm(u) return u * rsqrt(sum(u * u, -1) + 1e-6) end
local function rotate(u)
    return u * input("cos", {R, C}) + input("other", {R, C}) * input("sin", {R, C})
end

local works = {
    add = function() return x + input("y", {R, C}) end,
    softcap = function() return 30 * tanh(x / 30) end,
    prefix = function()
        return hide(logical_or(lt(key, input("length", {}, "i32", {fill = 24})), causal))
    end,
    position = function() return hide(le(key, query + input("length", {}, "i32", {fill = 0}))) end,
    padding = function()
        return hide(logical_and(causal, lt(input("padding", {1, C}, "i32", {fill = 0}), 2)))
    end,
    segments = function() return hide(logical_and(causal, same(as_is))) end,
    segmentsFull = function() return hide(same(as_is)) end,
    exp = function() return exp(x) end,
    sigmoid = function() return sigmoid(x) end,
    sigmoidBias = function() return sigmoid(x - 6.9) end,
    relu = function() return maximum(x, 0) ^ 2 / 1024 end,
    norm = function() return norm(x) end,
    rotate = function() return rotate(x) end,
    normRotate = function() return rotate(norm(x) * param("weight", {C}, {normal = 1})) end,
}
return {y = works[o.work]()}
