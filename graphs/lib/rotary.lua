-- Rotary positions: a query or key at position t is turned, two of its numbers at a time, by the
-- angles t w_i, so that scores depend on distances (Su et al.: RoFormer, 2021).

local rotary = {}

-- Returns the frequencies w_i = theta^(-2i / d) for i from 0 on, while 2i < d.
function rotary.frequencies(d, theta)
    local w = {}
    for i = 0, (d - 1) / 2 do w[i + 1] = theta ^ (-2 * i / d) end
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

-- YaRN: the numbers of a head that turn more than `fast` times within the context n turn as they did,
-- those that turn less than `slow` times slower by `factor`, and there is a ramp between
-- (Peng et al.: YaRN, 2023).  The ramp begins and ends at whole numbers unless `exact`.
function rotary.yarn(w, theta, factor, fast, slow, n, exact)
    local function turning(times) -- the number of a head that turns so often
        return #w * math.log(n / (times * 2 * math.pi)) / math.log(theta)
    end
    local low, high = turning(fast), turning(slow)
    if not exact then low, high = math.floor(low), math.ceil(high) end
    low, high = math.max(low, 0), math.min(high, 2 * #w - 1)
    if low == high then high = high + 0.001 end
    local scaled = {}
    for i = 1, #w do
        local slower = math.min(math.max((i - 1 - low) / (high - low), 0), 1)
        scaled[i] = slower * w[i] / factor + (1 - slower) * w[i]
    end
    return scaled
end

-- Returns YaRN's factor of cosines and sines, which makes scores larger in long contexts.
function rotary.yarn_scale(factor, m)
    return factor <= 1 and 1 or 0.1 * (m or 1) * math.log(factor) + 1
end

-- LongRoPE: each frequency divided by a number of its own
-- (Ding et al.: LongRoPE: Extending LLM Context Window Beyond 2 Million Tokens, 2024).
function rotary.longrope(w, factors)
    local scaled = {}
    for i = 1, #w do scaled[i] = w[i] / factors[i] end
    return scaled
end

-- A theta for T positions, more than the n it was trained with: the slowest numbers of a head turn
-- slower by about `factor` T / n, the fastest as they did ("dynamic NTK" scaling).
function rotary.dynamic_theta(d, theta, factor, T, n)
    return theta * (factor * math.max(T, n) / n - (factor - 1)) ^ (d / (d - 2))
end

-- cos(t w) and sin(t w), [T, d/2] each, of the positions from 0 on, times `scale` if there is one.
-- Angles are float32, as in transformers: off by 2^-24 of themselves, which is 0.004 at position 100,000.
function rotary.angles(T, w, scale)
    local angle = float(iota({T, 1}, 1)) * const(w)
    if not scale or scale == 1 then return {cos = cos(angle), sin = sin(angle)} end
    return {cos = cos(angle) * scale, sin = sin(angle) * scale}
end

-- Returns the rotated pair (a cos - b sin, b cos + a sin), computed in the scope "rotary".
local function turn(a, b, angles)
    return scope("rotary", function()
        return a * angles.cos - b * angles.sin, b * angles.cos + a * angles.sin
    end)
end

-- Returns `size` elements of the last axis from `start` on.
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

-- The same, except that number 2i is paired with number 2i + 1, as in the paper.
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
