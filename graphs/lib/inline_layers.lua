-- Functions for nodes that the recognisers make from several ONNX nodes: layers, heads, attention; see
-- inline_tools.lua. The option `shape` is the shape of the result.

local inline_layers = {}

-- ---- layers with parameters ----

-- Calls a layer in the scope PATH if its weight is called PATH.weight.
local function layer(name, weight, bias, o, x, ...)
    local path = weight.name:match("^(.+)%.weight$")
    assert(path, "found a weight of another name, expected one that ends in .weight")
    return scope(path, weight, bias, name, o.shape, "f32", x, ...)
end

function inline_layers.linear(x, weight, bias, o)
    local name = (o.transB or 0) ~= 0 and "nn.linear" or "nn.conv1d"
    return layer(name, weight, bias, o, x, o.shape[#o.shape], not bias and "false" or nil)
end

function inline_layers.embedding(rows, ids, o)
    return layer("nn.embedding", rows, nil, o, ids, rows:size(1), rows:size(2))
end

-- ---- rotary positions ----

-- Returns angles as a table of cosines and sines.
function inline_layers.angles(o)
    local frequencies = "rotary.frequencies(" .. text(2 * o.half) .. ", " .. text(o.theta) .. ")"
    return call("rotary.angles", o.shape, "f32", o.size, frequencies)
end

function inline_layers.rotary(x, angles, o)
    return call("rotary.halves", o.shape, x, x, angles)
end

-- Rotates x by tables of cosines and sines that the model computes.
function inline_layers.turn(x, cosines, sines, o)
    return call("rotary.halves", o.shape, x, x, {"cos = ", cosines, "sin = ", sines})
end

-- ---- attention ----

-- Kinds of masks: a mask allows pairs, forbids pairs, or is added to the scores.
local forbids, adds = 3, 4

-- Calls attention; omits unneeded arguments at the end.
function inline_layers.attend(q, k, v, mask, o)
    local alike = k:size(2) == q:size(2) or q.rank < 4
    local name = alike and "attention.attend" or "attention.grouped"
    local usual, scale, options, given = bound(q:size(-1)) ^ -0.5, o.scale or 1, {}, mask
    if o.mask == forbids then given = logical_not(mask) end
    if o.mask == adds then given = nil end
    if math.abs(scale - usual) > 1e-6 * usual then options[1] = "scale = " .. text(scale) end
    if o.safe == 1 then options[#options + 1] = "softmax = nn.safe_softmax" end
    if o.mask == adds then
        options[#options + 1] = "bias = "
        options[#options + 1] = mask
    end
    if #options == 0 then return call(name, o.shape, q, q, k, v, given) end
    return call(name, o.shape, q, q, k, v, given or "nil", "nil", options)
end

-- ---- views ----

-- A view of a shape.
function inline_layers.view(x, o)
    return reshape(x, o.shape)
end

-- A part of the last axis.
function inline_layers.part(x, o)
    return narrow(x, -1, o.start, o.shape[#o.shape])
end

function inline_layers.split_heads(x, o)
    return call("attention.split_heads", o.shape, x, x, o.heads)
end

function inline_layers.merge_heads(x, o)
    return call("attention.merge_heads", o.shape, x, x)
end

function inline_layers.causal_mask(o)
    return call("masks.causal", o.shape, "bool", o.size)
end

return inline_layers
