-- A layer of pre-norm attention whose heads attend in one of many ways, each spelled with nothing
-- but docs/language.md.  tests/variants.py measures what each costs beside the plain one.
local nn = require "nn"

local o = options {
    B = 1, T = 64, n_embd = 64, n_head = 4, window = 32, prefix = 24,
    variant = {
        "plain", "full", "windowAnd", "windowAbs", "windowAbsCausal", "windowTwice", "windowNot",
        "prefixOr", "prefixMaximum", "prefixWhere", "prefixTensor", "prefixBatch", "positionTensor",
        "padding", "sinkWindow", "segments",
        "segmentsFull", "alibi", "alibiComputed", "alibiTrained", "t5", "t5Full", "bias", "gqa", "gqaExpand", "gqaConcat", "gqaGather", "mqa",
        "softcap", "qkNorm", "softmaxOne", "softmaxOneShifted", "softmaxOneMaximum", "softmaxOneAfter", "softmaxOneTimes", "sink",
        "sinkConcat", "sigmoid", "sigmoidZero", "sigmoidBias", "relu", "biased", "biasedSome",
        "rope", "ropeHalf", "ropeInterleaved", "ropeGqa", "ropeBiased", "ropePart", "ropeNorm", "ropeNormHalf",
        "differential", "differentialHeads", "differentialPairs", "differentialSum", "differentialShared",
    },
}
local B, T, C, H = o.B, o.T, o.n_embd, o.n_head
local d = C / H

local variant = o.variant
local function starts(text) return string.sub(variant, 1, #text) == text end

-- [B, T, n d] to [B, n, T, d]
local function heads(x, n)
    return x:reshape{B, T, n, d}:transpose(2, 3)
end

-- Queries, keys and values, and how many heads the latter two have.
local groups = (starts("gqa") or variant == "ropeGqa") and H / 2 or variant == "mqa" and 1 or H
local bias = starts("biased") or variant == "ropeBiased"
local x = input("x", {B, T, C})
local n = scope("norm", nn.layer_norm, x, {eps = 1e-5})
local q = heads(scope("q", nn.linear, n, C, bias), H)
local k = heads(scope("k", nn.linear, n, groups * d, bias and variant ~= "biasedSome"), groups)
local v = heads(scope("v", nn.linear, n, groups * d, bias), groups)

-- Rotary positions (Su et al. 2021): tables of cosines and sines come from outside.
local function rotate(u)
    local half = d / 2
    local all, part = {B, u.shape[2], T, half}, {0, 0, 0, half}
    if variant == "ropeHalf" or variant == "ropeNormHalf" then
        local cos, sin = input("cos", {T, d}), input("sin", {T, d})
        local turned = concat({-u:slice(part, all), u:slice({0, 0, 0, 0}, all)}, -1)
        return u * cos + turned * sin
    end
    if variant == "ropePart" then -- some columns stay as they are
        half = d % 8 == 0 and d / 4 or 1
        all, part = {B, u.shape[2], T, half}, {0, 0, 0, half}
    end
    local cos, sin = input("cos", {T, half}), input("sin", {T, half})
    if variant == "ropeInterleaved" then
        local pairs_ = u:reshape{B, u.shape[2], T, half, 2}
        local one = {B, u.shape[2], T, half, 1}
        local even = pairs_:slice({0, 0, 0, 0, 0}, one):reshape(all)
        local odd = pairs_:slice({0, 0, 0, 0, 1}, one):reshape(all)
        local y0, y1 = even * cos - odd * sin, even * sin + odd * cos
        return concat({y0:reshape(one), y1:reshape(one)}, -1):reshape(u.shape)
    end
    local a, b = u:slice({0, 0, 0, 0}, all), u:slice(part, all)
    local turned = {a * cos - b * sin, b * cos + a * sin}
    if d > 2 * half then
        table.insert(turned, u:slice({0, 0, 0, 2 * half}, {B, u.shape[2], T, d - 2 * half}))
    end
    return concat(turned, -1)
end

-- A norm of each head's rows, with a weight (as Qwen 3 has it).
local function normed(u, name)
    return u * rsqrt(sum(u * u, -1) / d + 1e-6) * param(name, {d}, {normal = 1})
end

if starts("ropeNorm") then q, k = normed(q, "q_norm"), normed(k, "k_norm") end
if starts("rope") then q, k = rotate(q), rotate(k) end

if variant == "qkNorm" then
    local function unit(u) return u * rsqrt(sum(u * u, -1) + 1e-6) end
    q, k = unit(q) * param("temperature", {H, 1, 1}, {normal = 4}), unit(k)
end

-- Keys and values that several heads share.
if variant == "gqaConcat" then
    local function repeated(u)
        local list = {}
        for h = 0, H - 1 do
            table.insert(list, u:slice({0, math.floor(h * groups / H), 0, 0}, {B, 1, T, d}))
        end
        return concat(list, 2)
    end
    k, v = repeated(k), repeated(v)
elseif variant == "gqaGather" then
    local zero, index = const(0, {H}, "i32"), nil
    for group = 1, groups - 1 do
        local more = where(ge(iota({H}, 1), group * H / groups), 1, zero)
        index = index and index + more or more
    end
    local function repeated(u) return gather(u:transpose(1, 2), index):transpose(1, 2) end
    k, v = repeated(k), repeated(v)
elseif variant == "gqaExpand" then
    local function repeated(u)
        local wide = u:reshape{B, groups, 1, T, d}:expand{B, groups, H / groups, T, d}
        return wide:reshape{B, H, T, d}
    end
    k, v = repeated(k), repeated(v)
elseif groups > 1 and groups < H then
    local shape = {B, groups, H / groups, T, d}
    q = q:reshape(shape)
    k, v = k:reshape{B, groups, 1, T, d}, v:reshape{B, groups, 1, T, d}
end

local s = matmul(q, k:transpose(-2, -1))
if variant ~= "qkNorm" then s = s / math.sqrt(d) end

local query, key = iota({T, T}, 1), iota({T, T}, 2)
local causal = le(key, query)
local mask = causal

-- What is added to the scores.
if variant == "softcap" then s = 30 * tanh(s / 30) end
if starts("alibi") then
    local slope
    if variant == "alibi" then
        local list = {}
        for h = 1, H do list[h] = const(2 ^ (-8 * h / H), {1, 1, 1}) end
        slope = concat(list, 1)
    elseif variant == "alibiComputed" then
        slope = exp(float(iota({H, 1, 1}, 1) + 1) * (-8 / H * math.log(2)))
    else
        slope = param("slope", {H, 1, 1}, {normal = 0.3})
    end
    s = s - slope * float(query - key)
end
if variant == "bias" then s = s + param("bias", {H, T, T}, {normal = 0.5}) end
if starts("t5") then
    -- One bucket for each of the first distances, then for ranges that double (Raffel et al. 2020).
    local distance = query - key
    if variant == "t5Full" then distance = abs(distance) end
    local bucket = minimum(maximum(distance, 0), 8)
    for _, edge in ipairs {12, 16, 24, 32, 48, 64, 96} do
        bucket = bucket + where(ge(distance, edge), 1, const(0, {T, T}, "i32"))
    end
    local table_ = param("relative_attention_bias", {16, H}, {normal = 1})
    s = s + gather(table_, bucket):permute{3, 1, 2}
end
if variant == "sigmoidBias" then s = s - math.log(T) end

-- What is hidden.
local W, P = o.window, o.prefix
if variant == "full" or variant == "t5Full" or variant == "segmentsFull" then mask = nil end
if variant == "windowAnd" then mask = logical_and(causal, lt(query - key, W)) end
if variant == "windowAbs" then mask = lt(abs(query - key), W) end
if variant == "windowAbsCausal" then mask = logical_and(causal, lt(abs(key - query), W)) end
if variant == "windowNot" then
    mask = logical_not(logical_or(gt(key, query), ge(query - key, W)))
end
if variant == "prefixOr" then mask = logical_or(lt(key, P), causal) end
if variant == "prefixMaximum" then mask = le(key, maximum(query, P - 1)) end
if variant == "prefixWhere" then mask = where(lt(key, P), const(1, {T, T}, "bool"), causal) end
if variant == "prefixTensor" then mask = logical_or(lt(key, input("length", {}, "i32", {fill = P})), causal) end
if variant == "prefixBatch" then
    mask = logical_or(lt(key, input("length", {B, 1, 1, 1}, "i32", {fill = P})), causal)
end
if variant == "positionTensor" then mask = le(key, query + input("length", {}, "i32", {fill = 0})) end
if variant == "padding" then
    mask = logical_and(causal, lt(input("padding", {B, 1, 1, T}, "i32", {fill = 0}), 2))
end
if variant == "sinkWindow" then
    mask = logical_and(causal, logical_or(lt(key, 4), lt(query - key, W)))
end
if starts("segments") then
    local segment = input("segment", {B, T}, "i32", {fill = 1})
    local same = eq(segment:reshape{B, 1, T, 1}, segment:reshape{B, 1, 1, T})
    mask = mask and logical_and(mask, same) or same
end
if variant == "windowTwice" then
    s = where(causal, s, -math.huge)
    mask = gt(key, query - W)
end
local hidden = s
if mask then s = where(mask, s, -math.huge) end

-- Weights of the values.
local p
if variant == "softmaxOne" then
    local e = exp(s)
    p = e / (1 + sum(e, -1))
elseif variant == "softmaxOneAfter" then
    local e = exp(s)
    local y = matmul(e, v) / (1 + sum(e, -1))
    p, v = y, nil
elseif variant == "softmaxOneTimes" then
    local top = maximum(max(s, -1), 0)
    local e = exp(s - top)
    p = e * (1 / (exp(-top) + sum(e, -1)))
elseif variant == "softmaxOneShifted" then
    local top = max(s, -1)
    local e = exp(s - top)
    p = e / (exp(-top) + sum(e, -1))
elseif variant == "softmaxOneMaximum" then
    local top = maximum(max(s, -1), 0)
    local e = exp(s - top)
    p = e / (sum(e, -1) + exp(-top))
elseif variant == "sink" then
    local sink = param("sinks", {H, 1, 1}, {normal = 1})
    local top = maximum(max(s, -1), sink)
    local e = exp(s - top)
    p = e / (sum(e, -1) + exp(sink - top))
elseif variant == "sinkConcat" then
    local sink = param("sinks", {H, 1, 1}, {normal = 1}):expand{B, H, T, 1}
    p = nn.softmax(concat({s, sink}, -1)):slice({0, 0, 0, 0}, {B, H, T, T})
elseif variant == "sigmoid" or variant == "sigmoidBias" then
    p = sigmoid(s)
elseif variant == "sigmoidZero" then
    p = where(mask, sigmoid(hidden), 0)
elseif variant == "relu" then
    p = where(mask, maximum(hidden, 0) ^ 2 / T, 0)
elseif variant == "differentialHeads" or variant == "differentialPairs" then
    -- The first half of the heads less the second, or of each pair of heads the first less the second
    -- (Ye et al.: Differential Transformer, 2024).
    local probs, half = nn.softmax(s), {B, H / 2, T, T}
    local one, two
    if variant == "differentialHeads" then
        one, two = probs:slice({0, 0, 0, 0}, half), probs:slice({0, H / 2, 0, 0}, half)
    else
        local pairs_ = probs:reshape{B, H / 2, 2, T, T}
        one = pairs_:slice({0, 0, 0, 0, 0}, {B, H / 2, 1, T, T}):reshape(half)
        two = pairs_:slice({0, 0, 1, 0, 0}, {B, H / 2, 1, T, T}):reshape(half)
    end
    p = one - param("lambda", {H / 2, 1, 1}, {normal = 0.5}) * two
    v = v:reshape{B, H / 2, 2, T, d}:transpose(3, 4):reshape{B, H / 2, T, 2 * d}
elseif variant == "differentialShared" then -- of the same scores: these are stored
    p = nn.softmax(s) - 0.5 * nn.softmax(s * 0.5)
elseif starts("differential") then
    local q2, k2 = scope("q2", nn.linear, n, C, false), scope("k2", nn.linear, n, C, false)
    local s2 = matmul(heads(q2, H), heads(k2, H):transpose(-2, -1)) / math.sqrt(d)
    local other = nn.softmax(where(mask, s2, -math.huge))
    if variant == "differential" then
        p = nn.softmax(s) - param("lambda", {H, 1, 1}, {normal = 0.5}) * other
    else
        p = other * 0.25 + nn.softmax(s)
    end
else
    p = nn.softmax(s)
end

local shape = (variant == "differentialHeads" or variant == "differentialPairs") and {B, H / 2, T, 2 * d} or {B, H, T, d}
local y = (v and matmul(p, v) or p):reshape(shape):transpose(2, 3):reshape{B, T, C}
return {y = x + scope("proj", nn.linear, y, C)}
