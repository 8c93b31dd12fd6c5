-- Operators of ONNX that find, take and replace elements by their places; see onnx.lua.

local tools = require "onnx_tools"
local axis_of, along, number, wrap = tools.axis_of, tools.along, tools.number, tools.wrap

local onnx_index = {}

-- Makes negative indices, which count from the end, non-negative.
local function from_start(index, size)
    return where(lt(index, 0), index + size, index)
end

-- ---- scatter ----
--
-- Indices and values that have no elements are nil: nothing is replaced.

local merges = {
    none = false, max = maximum, min = minimum,
    add = function(a, b) return a + b end, mul = function(a, b) return a * b end}

local function read_scatter(name, config)
    return layer_options(name, config or {}, {
        axis = {"whole", 0}, reduction = {"string", "none"}, type = "string?"})
end

-- Scatters values along an axis; with a reduction, slice by slice.
local function scatter_slices(x, values, index, axis, o)
    local merge = tools.choose("reduction", merges, o.reduction)
    if not merge then return scatter(x, values, index, axis) end
    local n = index:size(axis)
    assert(n <= 64, "found " .. n .. " values with a reduction, expected at most 64")
    for i = 0, n - 1 do
        local at, value = narrow(index, axis, i, 1), narrow(values, axis, i, 1)
        x = scatter(x, wrap(merge(gather(x, at, axis), value), o.type), at, axis)
    end
    return x
end

-- Scatters into the part of x that the index covers and puts it back: the language needs an index
-- whose other axes are as long as those of x.
local function scatter_part(x, values, index, axis, o, from)
    for i = from, x.rank do
        local n, left = index:size(i), x:size(i) - index:size(i)
        if i ~= axis and left > 0 then
            local first = scatter_part(narrow(x, i, 0, n), values, index, axis, o, i + 1)
            return concat({first, narrow(x, i, n, left)}, i)
        end
    end
    return scatter_slices(x, values, index, axis, o)
end

local function scatter_any(x, values, index, axis, o)
    if x.dtype ~= "bool" then return scatter_part(x, values, index, axis, o, 1) end
    return ne(scatter_part(int(x), int(values), index, axis, o, 1), 0)
end

-- Replaces elements along an axis: y[index[i, j], j] = values[i, j] for axis 0.
function onnx_index.scatter(x, index, values, config)
    local o = read_scatter("onnx_index.scatter", config)
    local axis = axis_of(x, o.axis)
    if not index then return x end
    return scatter_any(x, values, from_start(index, x:size(axis)), axis, o)
end

-- Replaces slices of x; the last axis of `indices` indexes the first axes of x.
function onnx_index.scatter_nd(x, indices, values, config)
    local o = read_scatter("onnx_index.scatter_nd", config)
    if not indices then return x end
    local depth, rows, columns, index = indices:size(-1), 1, 1, nil
    assert(depth <= x.rank,
        "found " .. depth .. " indices for a tensor of " .. x.rank .. " axes, expected at most one for each axis")
    for i, size in ipairs(x.shape) do
        if i <= depth then
            local part = from_start(narrow(indices, -1, i - 1, 1), size)
            index = index and index * size + part or part
            rows = rows * size
        else
            columns = columns * size
        end
    end
    index = reshape(index, {-1, 1})
    local wide = {index:size(1), columns}
    local y = scatter_any(reshape(x, {rows, columns}), reshape(values, wide), expand(index, wide), 1, o)
    return reshape(y, x.shape)
end

-- Writes slices of each batch, from its own start on; mode = "circular" continues at the beginning.
function onnx_index.tensor_scatter(x, update, start, config)
    local o = layer_options("onnx_index.tensor_scatter", config or {}, {
        axis = {"whole", -2}, mode = {"string", "linear"}})
    if not update then return x end
    local axis = axis_of(x, o.axis)
    local index = iota(update.shape, axis)
    if start then index = index + along(start, x.rank, 1) end
    if o.mode == "circular" then index = index % x:size(axis) end
    return scatter_any(x, update, index, axis, {reduction = "none"})
end

-- Adds an axis of `depth` elements: values[1] at the index x, values[0] elsewhere.
function onnx_index.one_hot(x, values, config)
    local o = layer_options("onnx_index.one_hot", config or {}, {depth = "number|table", axis = {"whole", -1}})
    local depth, axis = number(o.depth), o.axis < 0 and o.axis + x.rank + 2 or o.axis + 1
    assert(axis >= 1 and axis <= x.rank + 1,
        "found axis " .. o.axis .. ", expected an axis of the result, which has " .. x.rank + 1)
    local narrower, wider = x.shape, x.shape
    table.insert(narrower, axis, 1)
    table.insert(wider, axis, depth)
    local index = reshape(x.dtype == "f32" and int(x) or x, narrower)
    local hit = eq(iota(wider, axis), from_start(index, depth))
    local function value(i) return reshape(narrow(values, 1, i, 1), {}) end
    if values.dtype ~= "bool" then return where(hit, value(1), value(0)) end
    return logical_or(logical_and(hit, value(1)), logical_and(logical_not(hit), value(0)))
end

-- ---- places ----

-- By mode: the position that is read for a position outside 0 .. size - 1.
local places = {
    edge = function(at, size) return math.min(math.max(at, 0), size - 1) end,
    wrap = function(at, size) return at % size end,
    reflect = function(at, size)
        local period = math.max(2 * (size - 1), 1)
        return math.min(at % period, period - at % period)
    end}

-- Pads axes at both ends, with a value or with elements of x, by mode; a negative number crops.
function onnx_index.pad(x, config)
    local o = layer_options("onnx_index.pad", config or {}, {
        pads = "table", axes = "table?", mode = {"string", "constant"}, value = {"number|table", 0}})
    local n = o.axes and #o.axes or x.rank
    assert(#o.pads == 2 * n, "found " .. #o.pads .. " pads of " .. n .. " axes, expected two for each axis")
    for i = 1, n do
        local axis, before, after = axis_of(x, o.axes and o.axes[i] or i - 1), o.pads[i], o.pads[i + n]
        if o.mode == "constant" or (before <= 0 and after <= 0) then
            x = tools.pad(x, axis, before, after, number(o.value))
        else
            local place, list, size = tools.choose("mode", places, o.mode), {}, x:size(axis)
            for k = 1, size + before + after do list[k] = place(k - 1 - before, size) end
            x = tools.take(x, axis, list)
        end
    end
    return x
end

-- ---- the largest ----

-- Returns the index of the largest element along an axis, with sign -1 of the smallest; of equal elements the
-- first or, with select_last_index, the last one.
local function find_extreme(name, x, config, sign)
    local o = layer_options(name, config or {}, {
        axis = {"whole", 0}, keepdims = {"whole", 1}, select_last_index = {"whole", 0}})
    local axis, keep = axis_of(x, o.axis), o.keepdims ~= 0
    if sign < 0 then x = -x end
    if o.select_last_index == 0 then return argmax(x, axis, keep) end
    local n, backwards = x:size(axis), {}
    for i = 1, n do backwards[i] = n - i end
    return n - 1 - argmax(tools.take(x, axis, backwards), axis, keep)
end

-- Returns the index of the largest element.
function onnx_index.arg_max(x, config)
    return find_extreme("onnx_index.arg_max", x, config, 1)
end

-- Returns the index of the smallest element.
function onnx_index.arg_min(x, config)
    return find_extreme("onnx_index.arg_min", x, config, -1)
end

-- Returns the k largest or smallest elements along an axis, and their indices.  They are found one by one; each
-- is hidden from the next search.
local function find_largest(name, x, config)
    local o = layer_options(name, config or {}, {
        k = {"number|table", 1}, axis = {"whole", -1}, largest = {"whole", 1}})
    local axis, k = axis_of(x, o.axis), number(o.k)
    assert(x.dtype ~= "bool" and k >= 1 and k <= 64 and k <= x:size(axis),
        "found k = " .. k .. " for an axis of " .. x:size(axis) .. " numbers, expected 1 to 64, and no more than the axis")
    local left, place, hidden = x, iota(x.shape, axis), x.dtype == "i32" and -2 ^ 31 or -math.huge
    if o.largest == 0 then left = -x end
    local values, indices = {}, {}
    for i = 1, k do
        indices[i] = argmax(left, axis, true)
        values[i] = gather(x, indices[i], axis)
        left = where(eq(place, indices[i]), hidden, left)
    end
    return concat(values, axis), concat(indices, axis)
end

function onnx_index.top_k(x, config)
    return (find_largest("onnx_index.top_k", x, config))
end

function onnx_index.top_k_indices(x, config)
    local _, indices = find_largest("onnx_index.top_k_indices", x, config)
    return indices
end

return onnx_index
