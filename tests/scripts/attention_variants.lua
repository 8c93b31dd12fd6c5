-- Attention with something done to its scores, and the gradients of all that goes into it: of
-- queries, keys and values, and of `w`, which is what a script would train (slopes, a temperature ...).
local nn = require "nn"

local o = options {B = 2, T = 40, keys = 0, width = 8, heads = 4, groups = 4, causal = true,
    kind = {"plain", "cap", "trained_cap", "temperature", "divided", "head_temperature", "exp_temperature",
        "slopes", "key_slopes", "bias", "shared_bias", "batch_bias", "key_bias", "query_bias",
        "bias_and_slopes", "table", "table_by_column", "offsets", "window", "prefix", "segments",
        "weighted", "both", "sigmoid", "sigmoid_zero", "sigmoid_slopes", "sigmoid_sum", "relu", "softmax_one",
        "shifted_one", "sink", "sink_concat"},
    share = {"matmul", "rank5", "repeat", "transposed", "cycle", "rank3"},
    drop = false, scaled = false, summed = false, wanted = {"all", "loss"}}
local B, T, H, G, D = o.B, o.T, o.heads, o.groups, o.width
local K = o.keys > 0 and o.keys or T
local q, g = input("q", {B, H, T, D}), input("g", {B, H, T, D})
local k, v = input("k", {B, G, K, D}), input("v", {B, G, K, D})
local i, j = iota({T, K}, 1), iota({T, K}, 2)
local shapes = {trained_cap = {}, temperature = {}, divided = {1}, head_temperature = {H, 1, 1},
    exp_temperature = {H, 1, 1}, slopes = {H, 1, 1}, key_slopes = {H, 1, 1}, bias = {H, T, K},
    shared_bias = {T, K}, batch_bias = {B, 1, T, K}, key_bias = {H, 1, K}, query_bias = {B, 1, T, 1},
    bias_and_slopes = {H, T, K}, table = {32, H}, table_by_column = {32, H}, offsets = {T + K - 1, H},
    weighted = {T, K}, both = {H, 1, 1}, sigmoid_slopes = {H, 1, 1},
    sink = {H, 1, 1}, sink_concat = {H, 1, 1}}
local w = input("w", shapes[o.kind] or {1})

-- Keys or values of a group for each head that shares them.
local shared = {
    matmul = function(x) return x end, -- one group: matmul repeats it
    rank3 = function(x) return x:reshape{B, K, D}:reshape{B, 1, K, D}:expand{B, H, K, D} end,
    ["repeat"] = function(x)
        return x:reshape{B, G, 1, K, D}:expand{B, G, H / G, K, D}:reshape{B, H, K, D}
    end,
    cycle = function(x)
        return x:reshape{B, 1, G, K, D}:expand{B, H / G, G, K, D}:reshape{B, H, K, D}
    end,
}
local s, attend
if o.share == "rank5" then
    local q5, k5 = q:reshape{B, G, H / G, T, D}, k:reshape{B, G, 1, K, D}
    s = matmul(q5, k5:transpose(-2, -1))
    attend = function(p) return matmul(p, v:reshape{B, G, 1, K, D}):reshape{B, H, T, D} end
elseif o.share == "transposed" then
    local kt = k:transpose(-2, -1):reshape{B, G, 1, D, K}:expand{B, G, H / G, D, K}
    s = matmul(q, kt:reshape{B, H, D, K})
    attend = function(p) return matmul(p, shared["repeat"](v)) end
else
    s = matmul(q, shared[o.share](k):transpose(-2, -1))
    attend = function(p) return matmul(p, shared[o.share](v)) end
end
s = s * D ^ -0.5

local function bucket(n) -- distances of up to n, beyond which all are alike
    local d = i - j
    return minimum(maximum(d, 0 * d), 0 * d + (n - 1))
end
local distance = float(j - i)
local change = {
    cap = function() return tanh(s / 2) * 2 end,
    trained_cap = function() return tanh(s / (w + 5)) * (w + 5) end,
    temperature = function() return s * w end,
    divided = function() return s / (w + 4) end,
    head_temperature = function() return s * w end,
    exp_temperature = function() return s * exp(w) end,
    slopes = function() return s + w * distance / T end,
    key_slopes = function() return s + w * float(iota({1, K}, 2)) / K end,
    bias = function() return s + w end,
    shared_bias = function() return s + w end,
    batch_bias = function() return s + w end,
    key_bias = function() return s + w end,
    query_bias = function() return s * w end,
    bias_and_slopes = function() return s + w + sum(sum(w, 3), 2) * distance / (T * K * T) end,
    table = function() return s + gather(w, bucket(32)):permute{3, 1, 2} end,
    table_by_column = function()
        return s + gather(w, bucket(32):transpose(1, 2)):permute{3, 2, 1}:reshape{1, H, T, K}
    end,
    offsets = function() return s + gather(w, j - i + (T - 1)):permute{3, 1, 2} end,
    weighted = function() return s * w end,
    both = function() return tanh(s * w + w * distance / T) end,
    sigmoid_slopes = function() return s + w * distance / T end,
}
if change[o.kind] then s = change[o.kind]() end
local mask
if o.causal then mask = le(j, i) end
if o.kind == "window" then mask = logical_and(le(j, i), gt(j, i - 50)) end
if o.kind == "prefix" then mask = logical_or(le(j, i), lt(j, 0 * j + 20)) end
if o.kind == "segments" then
    local of = function(x) return float(lt(x, 0 * x + 30)) end -- two documents, side by side
    mask = logical_and(le(j, i), eq(of(i), of(j)))
end
local zero = o.kind == "sigmoid_zero" or o.kind == "relu"
if mask and o.kind == "sigmoid_sum" then
    s = s + where(mask, 0, -math.huge)
elseif mask and not zero then
    s = where(mask, s, -math.huge)
end
local weigh = { -- without a sum over keys, or with more in it
    sigmoid = sigmoid, sigmoid_zero = sigmoid, sigmoid_slopes = sigmoid, sigmoid_sum = sigmoid,
    relu = function(x) return maximum(x, 0) ^ 2 / K end,
    softmax_one = function(x)
        local e = exp(x)
        return e / (1 + sum(e, -1))
    end,
    sink = function(x)
        local top = maximum(max(x, -1), w)
        local e = exp(x - top)
        return e / (sum(e, -1) + exp(w - top))
    end,
    sink_concat = function(x)
        local all = concat({x, w:expand{B, H, T, 1}}, -1)
        return nn.softmax(all):slice({0, 0, 0, 0}, {B, H, T, K})
    end,
    shifted_one = function(x)
        local top = maximum(max(x, -1), 0)
        local e = exp(x - top)
        return e * (1 / (exp(-top) + sum(e, -1)))
    end,
}
local p = (weigh[o.kind] or nn.softmax)(s)
if mask and zero then p = where(mask, p, 0) end
if o.drop then p = nn.dropout(p, 0.3, 7) end
local y = attend(p)
local loss = sum(sum(sum(sum(o.summed and y or y * g, -1), -2), -3), -4)
if o.wanted == "loss" then return {y = y, loss = loss} end
local d = grad(loss, {q, k, v, w})
if o.scaled then -- the gradient of w by its own length, as where gradients are clipped
    local square = d[4] * d[4]
    for axis = square.rank, 1, -1 do square = sum(square, axis) end
    d[4] = d[4] * rsqrt(square + 1)
end
return {y = y, dq = d[1], dk = d[2], dv = d[3], dw = d[4]}
