-- Rotary positions: a query or key at position t is turned, two of its numbers at a time, by the
-- angles t w_i, so that scores depend on distances (Su et al.: RoFormer, 2021).

local rotary = {}

-- w_i = theta^(-2i / d), for i from 0 to d/2 - 1.
function rotary.frequencies(d, theta)
    local w = {}
    for i = 0, d / 2 - 1 do w[i + 1] = theta ^ (-2 * i / d) end
    return w
end

-- Positions interpolated: all frequencies divided by `factor`
-- (Chen et al.: Extending Context Window by Position Interpolation, 2023).
function rotary.linear(w, factor)
    local scaled = {}
    for i = 1, #w do scaled[i] = w[i] / factor end
    return scaled
end

-- As Llama 3 has it: waves shorter than n / high turn as they did, those longer than n / low slower
-- by `factor`, and between them there is a smooth passage; n is the context it was trained with
-- (Grattafiori et al.: The Llama 3 Herd of Models, 2024).
function rotary.llama3(w, factor, low, high, n)
    local scaled = {}
    for i = 1, #w do
        local waves = n * w[i] / (2 * math.pi) -- that fit into the context
        local smooth = math.min(math.max((waves - low) / (high - low), 0), 1)
        scaled[i] = (1 - smooth) * w[i] / factor + smooth * w[i]
    end
    return scaled
end

-- cos(t w) and sin(t w), [T, d/2] each, of the positions from 0 on.  Angles are float32, as in
-- transformers: off by 2^-24 of themselves, which is 0.004 at position 100,000.
function rotary.angles(T, w)
    local angle = float(iota({T, 1}, 1)) * const(w)
    return {cos = cos(angle), sin = sin(angle)}
end

-- (a cos - b sin, b cos + a sin)
local function turn(a, b, angles)
    return a * angles.cos - b * angles.sin, b * angles.cos + a * angles.sin
end

-- The part of the last axis from `start` on.
local function part(x, start, size)
    local starts, sizes = {}, x.shape
    for i = 1, #sizes do starts[i] = 0 end
    starts[#sizes], sizes[#sizes] = start, size
    return x:slice(starts, sizes)
end

-- x [.., T, d], of which the first numbers, as many as there are angles for, are turned, and the
-- rest is left alone.  Number i goes with number i + half, as Hugging Face has it.
function rotary.halves(x, angles)
    local d, half = x:size(-1), angles.cos:size(-1)
    local a, b = turn(part(x, 0, half), part(x, half, half), angles)
    if 2 * half == d then return concat({a, b}, -1) end
    return concat({a, b, part(x, 2 * half, d - 2 * half)}, -1)
end

-- The same where number 2i goes with number 2i + 1, as the paper has it.
function rotary.interleaved(x, angles)
    local d, half = x:size(-1), angles.cos:size(-1)
    local turned = part(x, 0, 2 * half)
    local whole, pairs, one = turned.shape, turned.shape, turned.shape
    pairs[#pairs], pairs[#pairs + 1] = half, 2
    one[#one] = half
    pairs = turned:reshape(pairs)
    local a, b = turn(part(pairs, 0, 1):reshape(one), part(pairs, 1, 1):reshape(one), angles)
    one[#one + 1] = 1
    turned = concat({a:reshape(one), b:reshape(one)}, -1):reshape(whole)
    if 2 * half == d then return turned end
    return concat({turned, part(x, 2 * half, d - 2 * half)}, -1)
end

return rotary
