-- What layer norm does to activations whose mean is 1 and whose standard deviation is 3, and
-- what batch norm does: one normalises a token over its features, the other a feature over
-- all tokens of the batch.

local nn = require "nn"
local statistics = require "statistics"

local o = options {
    B = 4, T = 6, C = 8,
    low = -8, width = 1, bins = 18, -- of the histograms
}

local input_mean, input_std, eps = 1, 3, 1e-5

local function layer_norm(x)
    return (scope("norm", nn.layer_norm, x, {eps = eps})) -- one layer, whatever x is
end

-- BatchNorm(x) = (x - mu) / sqrt(sigma^2 + eps), mu and sigma of a feature over batch and
-- tokens, as torch.nn.BatchNorm1d has it in training, with gamma 1 and beta 0.
local function batch_norm(x)
    local rows = x:reshape{-1, x:size(-1)}
    local centred = rows - nn.mean(rows, 1)
    return (centred * rsqrt(nn.mean(centred ^ 2, 1) + eps)):reshape(x.shape)
end

-- Three ways to write the denominator, of a token of standard deviation 1 and made smaller:
-- the standard deviation that comes out.
local function denominators(x)
    local token = x:slice({0, 0, 0}, {1, 1, o.C}):reshape{o.C}
    local centred = token - nn.mean(token, 1)
    local unit = centred * rsqrt(nn.mean(centred ^ 2, 1))
    local inside, outside, none = {}, {}, {}
    for i, scale in ipairs{1, 0.1, 0.01, 0.001} do
        local c = scale * unit
        local sigma = sqrt(nn.mean(c ^ 2, 1))
        local function std(y) return sqrt(nn.mean(y ^ 2, 1)) end
        inside[i] = std(c / sqrt(sigma ^ 2 + eps))
        outside[i] = std(c / (sigma + eps))
        none[i] = std(c / sigma)
    end
    return statistics.list(inside), statistics.list(outside), statistics.list(none)
end

-- How far a mean over an axis is from 0 and a standard deviation from 1, at most.
local function off(x, axes)
    local rows = x:reshape{-1, x:size(-1)}
    return statistics.peak(nn.mean(rows, axes)),
        statistics.peak(sqrt(nn.mean((rows - nn.mean(rows, axes)) ^ 2, axes)) - 1)
end

-- Where normalising per token and per feature left the means and standard deviations.
local function offsets(x)
    local token_mean, token_std = off(x, 2)
    local feature_mean, feature_std = off(x, 1)
    return statistics.list{token_mean, token_std, feature_mean, feature_std}
end

-- How much the first sequence's result changes when the others become ten times as large.
local function influence(norm, x)
    local first = x:slice({0, 0, 0}, {1, o.T, o.C})
    local others = x:slice({1, 0, 0}, {o.B - 1, o.T, o.C})
    local changed = norm(concat({first, 10 * others}, 1))
    return statistics.peak((norm(x) - changed):slice({0, 0, 0}, {1, o.T, o.C}))
end

local x = input("x", {o.B, o.T, o.C}) * input_std + input_mean
local normed = layer_norm(x)
local batch_normed = batch_norm(x)
local inside, outside, none = denominators(x)

return {
    before = statistics.histogram(x, o.low, o.width, o.bins),
    after = statistics.histogram(normed, o.low, o.width, o.bins),
    means = statistics.list{statistics.mean(x), statistics.mean(normed)},
    stds = statistics.list{statistics.std(x), statistics.std(normed)},
    token_std = statistics.std_over(normed, -1):reshape{-1}, -- with C - 1 in the denominator
    layer_norm_off = offsets(normed),
    batch_norm_off = offsets(batch_normed),
    influence = statistics.list{influence(layer_norm, x), influence(batch_norm, x)},
    inside = inside, outside = outside, none = none,
}
