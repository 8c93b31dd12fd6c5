-- Softmax and norms of ONNX; see inline_tools.lua.

local tools = require "inline_tools"
local axis_of, nn = tools.axis_of, tools.nn

local inline_norm = {}

-- ---- softmax ----

local function softmax(x, axis)
    return transpose(nn.softmax(transpose(x, axis, -1)), axis, -1)
end

-- Returns the softmax along an axis; before version 13, over all axes from that one on, as if they were merged.
function inline_norm.softmax(x, o)
    assert(x.rank > 0, "a tensor without axes, expected at least one")
    local is_old = o.version ~= nil
    local axis = axis_of(x, o.axis or is_old and 1 or -1)
    if not is_old or axis == x.rank then return softmax(x, axis) end
    local rows = 1
    for i = 1, axis - 1 do rows = tools.times(rows, x:size(i)) end
    local y = softmax(reshape(x, {rows, tools.count(x, tools.axes_from(x, axis))}), 2)
    return reshape(y, x.shape)
end

-- ---- norms ----

-- Returns PATH if the weight is called PATH.weight, and the bias, if there is one, PATH.bias; else nil.
local function path_of(weight, bias)
    local path = weight.is_weight and weight.rank == 1 and weight.name:match("^([%w_.-]+)%.weight$")
    if path and (not bias or bias.is_weight and bias.name == path .. ".bias") then return path end
end

-- Returns a layer of nn if the parameters are named like those of a module, else nil.
local function as_layer(name, x, weight, bias, epsilon, more)
    local path = path_of(weight, bias)
    if path and weight:size(1) == x:size(-1) then
        return scope(path, weight, bias, name, x.shape, x, x, "{eps = " .. text(epsilon) .. more .. "}")
    end
end

local function as_layer_norm(x, scale, bias, epsilon)
    return as_layer("nn.layer_norm", x, scale, bias, epsilon, bias and "" or ", bias = false")
end

-- Returns the norm over axes; with `wants_more` also the mean and the inverse deviation.
local function layer_norm(x, scale, bias, axes, epsilon, wants_more)
    local layer = #axes == 1 and not wants_more and as_layer_norm(x, scale, bias, epsilon)
    if layer then return layer end
    local mean = tools.mean(x, axes, true)
    local centred = x - mean
    local inverse = rsqrt(tools.mean(centred ^ 2, axes, true) + epsilon)
    local y = centred * inverse * scale
    return bias and y + bias or y, mean, inverse
end

local function read_norm(x, o)
    return tools.axes_from(x, axis_of(x, o.axis or -1)), o.epsilon or 1e-5
end

function inline_norm.layer_normalization(x, scale, bias, o)
    local axes, epsilon = read_norm(x, o)
    return layer_norm(x, scale, bias, axes, epsilon, o.outputs[2] or o.outputs[3])
end

local function rms_norm(x, scale, axes, epsilon)
    local layer = #axes == 1 and as_layer("nn.rms_norm", x, scale, nil, epsilon, "")
    if layer then return layer end
    return x * rsqrt(tools.mean(x ^ 2, axes, true) + epsilon) * scale
end

function inline_norm.rms_normalization(x, scale, o)
    local axes, epsilon = read_norm(x, o)
    return rms_norm(x, scale, axes, epsilon)
end

-- Calls nn.layer_norm for a norm that a recogniser found and whose parameters are named like a module's.
function inline_norm.layer_norm(x, scale, bias, o)
    return as_layer_norm(x, scale, bias, o.epsilon)
end

-- Computes a norm that a recogniser found and whose weight is not named like a module's.
function inline_norm.rms_norm(x, weight, o)
    local _, epsilon = read_norm(x, o)
    return x * rsqrt(tools.mean(x * x, {x.rank}, true) + epsilon) * weight
end

-- ---- com.microsoft ----

-- Without an option these operators have a smaller epsilon than those of ONNX.
local function epsilon_of(o)
    return o.epsilon or 1e-12
end

local function sum_of(x, skip, bias)
    x = x + skip
    return bias and x + bias or x
end

-- Normalises x + skip + bias, and returns that sum as the last output.
function inline_norm.skip_layer_normalization(x, skip, scale, offset, bias, o)
    x = sum_of(x, skip, bias)
    local y, mean, inverse =
        layer_norm(x, scale, offset, {x.rank}, epsilon_of(o), o.outputs[2] or o.outputs[3])
    return y, mean, inverse, x
end

function inline_norm.skip_rms_normalization(x, skip, scale, bias, o)
    x = sum_of(x, skip, bias)
    return rms_norm(x, scale, {x.rank}, epsilon_of(o)), nil, nil, x
end

-- Adds rows for words, positions and segments, and normalises the sum.  Output 2 is the number of tokens that the
-- mask allows, output 3 is the sum.
function inline_norm.embed_layer_normalization(ids, segments, words, positions, kinds, scale, bias, mask, at,
                                               o)
    assert(ids.rank == 2 and positions.rank == 2, "found ids of " .. ids.rank .. " axes and positions of " .. positions.rank .. ", expected two for both")
    local x = tools.gather(words, ids, 1) + (at and tools.gather(positions, at, 1) or narrow(positions, 1, 0, ids:size(2)))
    if segments and kinds then x = x + tools.gather(kinds, segments, 1) end
    local allowed = mask and sum(int(eq(mask, 1)), 2, false) or full(0, {ids:size(1)}, "i32")
    return layer_norm(x, scale, bias, {x.rank}, epsilon_of(o)), allowed, x
end

return inline_norm
