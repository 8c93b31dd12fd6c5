-- Norms of ONNX that are no layers of a transformer, and losses; see onnx.lua.

local tools = require "onnx_tools"
local to_float, along, pad, axis_of, mean = tools.to_float, tools.along, tools.pad, tools.axis_of, tools.mean

local onnx_norm = {}

-- Returns all axes from `from` on, or all but one.
local function axes_of(x, from, but)
    local axes = {}
    for i = from, x.rank do
        if i ~= but then axes[#axes + 1] = i end
    end
    return axes
end

-- (x - mean) / sqrt(variance + epsilon)
local function standardise(x, axes, epsilon)
    local centred = x - mean(x, axes)
    return centred * rsqrt(mean(centred ^ 2, axes) + epsilon)
end

-- ---- BatchNormalization ----

local batch_options = {epsilon = {"number", 1e-5}, momentum = "number?", training_mode = {"whole", 0}}

-- Returns mean and variance of the channels, axis 2: the given ones, or in training those of x.
local function statistics(x, given_mean, given_variance, o)
    assert(x.rank >= 2, "found " .. tostring(x) .. ", expected [N, C, ..]")
    if o.training_mode == 0 then
        return along(given_mean, x.rank, 2), along(given_variance, x.rank, 2)
    end
    local axes = axes_of(x, 1, 2)
    local middle = mean(x, axes)
    return middle, mean((x - middle) ^ 2, axes)
end

-- (x - mean) / sqrt(variance + epsilon) * scale + bias, by channel.
function onnx_norm.batch(x, scale, bias, given_mean, given_variance, config)
    local o = layer_options("onnx_norm.batch", config or {}, batch_options)
    local middle, variance = statistics(x, given_mean, given_variance, o)
    local y = (x - middle) * rsqrt(variance + o.epsilon) * along(scale, x.rank, 2)
    return y + along(bias, x.rank, 2)
end

-- Returns the running statistics for the next training step.
local function kept(x, given, now, o)
    local momentum = o.momentum and to_float(o.momentum) or 0.9
    return reshape(along(given, x.rank, 2) * momentum + now * (1 - momentum), {x:size(2)})
end

function onnx_norm.batch_mean(x, scale, bias, given_mean, given_variance, config)
    local o = layer_options("onnx_norm.batch_mean", config or {}, batch_options)
    local middle = statistics(x, given_mean, given_variance, o)
    return kept(x, given_mean, middle, o)
end

function onnx_norm.batch_variance(x, scale, bias, given_mean, given_variance, config)
    local o = layer_options("onnx_norm.batch_variance", config or {}, batch_options)
    local _, variance = statistics(x, given_mean, given_variance, o)
    return kept(x, given_variance, variance, o)
end

-- ---- others ----

-- Normalises each channel of each picture separately.
function onnx_norm.instance(x, scale, bias, config)
    local o = layer_options("onnx_norm.instance", config or {}, {epsilon = {"number", 1e-5}})
    assert(x.rank >= 3, "found " .. tostring(x) .. ", expected [N, C, d..]")
    local y = standardise(x, axes_of(x, 3), o.epsilon)
    return y * along(scale, x.rank, 2) + along(bias, x.rank, 2)
end

-- Normalises groups of channels; before version 21 scale and bias are by group, since then by channel.
function onnx_norm.group(x, scale, bias, config)
    local o = layer_options("onnx_norm.group", config or {}, {
        epsilon = {"number", 1e-5}, num_groups = {"whole", 1}})
    local groups, shape = o.num_groups, x.shape
    assert(x.rank >= 2 and groups >= 1 and x:size(2) % groups == 0,
        "found " .. groups .. " groups for " .. tostring(x) .. ", expected [N, C, ..] and a number of groups that divides C")
    local y = standardise(reshape(x, {x:size(1), groups, -1}), {3}, o.epsilon)
    local by_group = scale:size(1) == groups and groups ~= x:size(2)
    if not by_group then y = reshape(y, shape) end
    return reshape(y * along(scale, y.rank, 2) + along(bias, y.rank, 2), shape)
end

-- Returns x / (sum of |x|^p)^(1 / p), and 0 where that sum is 0.
function onnx_norm.lp(x, config)
    local o = layer_options("onnx_norm.lp", config or {}, {axis = {"whole", -1}, p = {"whole", 2}})
    assert(o.p == 1 or o.p == 2, "found p = " .. o.p .. ", expected 1 or 2")
    local norm = sum(o.p == 1 and abs(x) or x ^ 2, axis_of(x, o.axis))
    if o.p == 2 then norm = sqrt(norm) end
    return where(eq(norm, 0), 0, x / norm)
end

-- Computes the variance as the mean of the squares minus the square of the mean, as the operator is defined.
function onnx_norm.mean_variance(x, config)
    local o = layer_options("onnx_norm.mean_variance", config or {}, {axes = "table?"})
    local axes = {}
    for i, axis in ipairs(o.axes or {0, 2, 3}) do axes[i] = axis_of(x, axis) end
    local middle = mean(x, axes)
    return (x - middle) / (sqrt(mean(x ^ 2, axes) - middle ^ 2) + 1e-9)
end

-- x / (bias + alpha / size * the squares of neighbouring channels) ^ beta
function onnx_norm.lrn(x, config)
    local o = layer_options("onnx_norm.lrn", config or {}, {
        alpha = "number?", beta = {"number", 0.75}, bias = {"number", 1}, size = {"whole", 1}})
    local n, total = o.size, nil
    assert(x.rank >= 2 and n >= 1 and n <= 64,
        "found size " .. n .. " and " .. tostring(x) .. ", expected [N, C, ..] and a size of 1 to 64")
    local before = math.floor((n - 1) / 2)
    local squares = pad(x ^ 2, 2, before, n - 1 - before, 0)
    for i = 0, n - 1 do
        local part = narrow(squares, 2, i, x:size(2))
        total = total and total + part or part
    end
    local alpha = o.alpha and to_float(o.alpha) or 1e-4
    return x / (total * (alpha / n) + o.bias) ^ o.beta
end

-- 1 at the first of the largest along an axis, else 0.  Before version 13 the axes from `axis` on
-- are one.
-- Reads the attribute `axis` of an operator.  Before version 13 the operator is over all axes from it on,
-- merged into one.  Returns x, merged, and the axis in it.
local function read_axis(name, x, config)
    local o = layer_options(name, config or {}, {axis = "whole?", version = "whole?"})
    assert(x.rank > 0, "found a tensor without axes, expected at least one")
    local axis, flat = axis_of(x, o.axis or (o.version and 1 or -1)), {1, 1}
    if not o.version or axis == x.rank then return x, axis end
    for i, size in ipairs(x.shape) do
        local k = i < axis and 1 or 2
        flat[k] = flat[k] * size
    end
    return reshape(x, flat), 2
end

-- 1 at the first maximum along an axis, 0 elsewhere.
function onnx_norm.hardmax(x, config)
    local shape, axis = x.shape, nil
    x, axis = read_axis("onnx_norm.hardmax", x, config)
    local hit = eq(iota(x.shape, axis), argmax(x, axis, true))
    return reshape(x.dtype == "f32" and float(hit) or int(hit), shape)
end

-- ---- losses ----

local loss_options = {ignore_index = "whole?", reduction = {"string", "mean"}}

-- Scores [N, C, ..] of classes against targets [N, ..]: minus the score of the target, weighted by its class, and
-- 0 where the target is to be ignored.
local function loss_of(scores, target, weight, o)
    assert(scores.rank >= 2 and target and target.rank == scores.rank - 1,
        "found scores " .. tostring(scores) .. " and targets " .. tostring(target) ..
            ", expected [N, C, ..] and [N, ..]")
    local wide, count = target.shape, 1
    for _, size in ipairs(wide) do count = count * size end
    table.insert(wide, 2, 1)
    local hit = eq(iota(scores.shape, 2), reshape(target, wide))
    local function of_target(x) return sum(where(hit, x, 0), 2, false) end
    local factor = weight and of_target(along(weight, scores.rank, 2))
    if o.ignore_index then
        factor = where(ne(target, o.ignore_index), factor or const(1, target.shape), 0)
    end
    local y = -of_target(scores)
    if factor then y = y * factor end
    if o.reduction == "none" then return y end
    local axes = axes_of(y, 1)
    local total = sum(y, axes, false)
    if o.reduction == "sum" then return total end
    return total / (factor and sum(factor, axes, false) or count)
end

function onnx_norm.nll_loss(scores, target, weight, config)
    local o = layer_options("onnx_norm.nll_loss", config or {}, loss_options)
    return loss_of(scores, target, weight, o)
end

-- x - max - log(sum(exp(x - max))) along an axis.
local function log_softmax(x, axis)
    local centred = x - max(x, axis)
    return centred - log(sum(exp(centred), axis))
end

-- The logarithm of softmax.
function onnx_norm.log_softmax(x, config)
    local merged, axis = read_axis("onnx_norm.log_softmax", x, config)
    return reshape(log_softmax(merged, axis), x.shape)
end

-- The logarithm of softmax over classes, axis 2.
local function log_classes(x)
    assert(x.rank >= 2, "found scores " .. tostring(x) .. ", expected [N, C, ..]")
    return log_softmax(x, 2)
end

-- Returns the loss of a softmax.
function onnx_norm.cross_entropy(scores, target, weight, config)
    local o = layer_options("onnx_norm.cross_entropy", config or {}, loss_options)
    return loss_of(log_classes(scores), target, weight, o)
end

-- The second output of SoftmaxCrossEntropyLoss: the logarithm of the softmax.
function onnx_norm.cross_entropy_scores(scores)
    return log_classes(scores)
end

return onnx_norm
