-- Causal attention with linear biases (Press et al.: Train Short, Test Long, 2022) in
-- place of positions: score - slope * distance, another slope for each head.

local o = options {B = 2, T = 12, n_embd = 24, n_head = 3}
local d = o.n_embd / o.n_head

-- slope_h = 2^(-8 h / n_head), h from 1, as a tensor [n_head, 1, 1]
local function slopes(n)
    local list = {}
    for h = 1, n do list[h] = const(2 ^ (-8 * h / n), {1}) end
    return concat(list, 1):reshape{n, 1, 1}
end

local function split(x, name)
    local w = param(name, {o.n_embd, o.n_embd}, {normal = 0.2})
    return matmul(x, w):reshape{o.B, o.T, o.n_head, d}:permute{1, 3, 2, 4}
end

local x = input("x", {o.B, o.T, o.n_embd})
local q, k, v = split(x, "q"), split(x, "k"), split(x, "v")
local query, key = iota({o.T, o.T}, 1), iota({o.T, o.T}, 2)
local distance = float(query - key)
local scores = matmul(q, k:transpose(-1, -2)) / math.sqrt(d) - slopes(o.n_head) * distance
scores = where(lt(distance, 0), -math.huge, scores)
local e = exp(scores - max(scores, 4))
local y = matmul(e, v) / sum(e, 4) -- normalised after the product
return {y = x + y:permute{1, 3, 2, 4}:reshape{o.B, o.T, o.n_embd}}
