-- Operators of ONNX that move elements or read shapes; see inline_tools.lua.

local tools = require "inline_tools"
local axis_of, times = tools.axis_of, tools.times

local inline_shape = {}

-- ---- shapes ----

local function clamp(x, low, high)
    return math.min(math.max(x, low), high)
end

-- Returns the sizes of axes `start` to `end`; negative axes count from the end.
function inline_shape.shape(x, o)
    local rank, first, last, kept = x.rank, o.start or 0, o["end"] or x.rank, {}
    first = clamp(first < 0 and first + rank or first, 0, rank)
    last = clamp(last < 0 and last + rank or last, first, rank)
    for axis = first + 1, last do kept[#kept + 1] = x:size(axis) end
    return const(kept, {#kept}, "i32")
end

function inline_shape.size(x)
    return const({x.elements}, {}, "i32")
end

-- Returns the sizes in an option; raises an error if there are more than 8.
local function shape_of(o)
    local given = tools.list(o.shape) or {}
    if #given > 8 then error("found " .. #given .. " axes, expected at most 8") end
    for _, size in ipairs(given) do
        if type(size) == "number" and size < -1 then error("found a size of " .. size .. ", expected 0 or more") end
    end
    return given
end

-- Reshapes x; a size of 0 keeps the axis's size, -1 is computed from the remaining elements.
function inline_shape.reshape(x, o)
    local shape, rest, known = shape_of(o), nil, 1
    for i, size in ipairs(shape) do
        if size == 0 and (o.allowzero or 0) == 0 then shape[i] = i <= x.rank and x:size(i) or 1 end
        if size == -1 then rest = i else known = times(known, shape[i]) end
    end
    if rest and known ~= 0 then shape[rest] = sizes(x.elements, "/", known) end
    return reshape(x, shape)
end

function inline_shape.flatten(x, o)
    local axis, shape = o.axis or 1, {1, 1}
    if axis < 0 then axis = axis + x.rank end
    for i, size in ipairs(x.shape) do
        local to = i > axis and 2 or 1
        shape[to] = times(shape[to], size)
    end
    return reshape(x, shape)
end

-- Removes axes of size 1: those listed, or all.
function inline_shape.squeeze(x, o)
    local axes = tools.list(o.axes)
    local gone, shape = {}, {}
    for _, axis in ipairs(axes or {}) do gone[axis_of(x, axis)] = true end
    for i, size in ipairs(x.shape) do
        if not axes and type(size) ~= "number" then
            error("found no axes for a tensor with a length, which may be 1, expected axes, or --set")
        end
        if not gone[i] and (axes or size ~= 1) then shape[#shape + 1] = size end
    end
    return reshape(x, shape)
end

-- Inserts axes of size 1; their numbers count axes of the result.
function inline_shape.unsqueeze(x, o)
    local axes = tools.list(o.axes) or {}
    local own, result, is_new, shape, from = x.shape, {rank = x.rank + #axes}, {}, {}, 0
    if result.rank > 8 then error("a tensor of " .. result.rank .. " axes, expected at most 8") end
    for _, axis in ipairs(axes) do
        local at = axis_of(result, axis)
        if is_new[at] then error("found axis " .. axis .. " twice, expected each axis once") end
        is_new[at] = true
    end
    for i = 1, result.rank do
        if not is_new[i] then from = from + 1 end
        shape[i] = not is_new[i] and own[from] or 1
    end
    return reshape(x, shape)
end

-- Permutes the axes; without a permutation, reverses them.
function inline_shape.transpose(x, o)
    local order, rank = o.perm or {}, x.rank
    local is_given = #order > 0
    if is_given and #order ~= rank then
        error("found a permutation of " .. #order .. " axes, expected each axis once")
    end
    for i = 1, rank do order[i] = is_given and axis_of(x, order[i]) or rank + 1 - i end
    return permute(x, order)
end

-- Raises an error for an axis that cannot be expanded to a size.  A length can only become itself or 1: in a run
-- its value may be 1, and then the result would have the other size.
local function check_expanded(own, other)
    if own == 1 or other == 1 or own == other then return end
    if type(own) ~= "number" then
        error("found an axis of a length, which may be 1, and the size " .. bound(other) ..
            ", expected the same length, or --set")
    end
    if type(other) ~= "number" then error("found an axis of " .. own .. ", expected 1 or the length, or --set") end
    if other > 1 then error("found an axis of " .. own .. ", expected 1 or " .. other) end
end

-- Broadcasts x: the result has the larger of both sizes along each axis.
function inline_shape.expand(x, o)
    local asked = shape_of(o)
    local rank, wide = math.max(#asked, x.rank), {}
    for i = 1, rank do
        local own, other = i - (rank - x.rank), i - (rank - #asked)
        own, other = own > 0 and x:size(own) or 1, other > 0 and asked[other] or 1
        check_expanded(own, other)
        wide[i] = own == 1 and other or own
    end
    return expand(x, wide)
end

-- ---- constants ----

function inline_shape.constant_of_shape(o)
    local shape = shape_of(o)
    return o.value and expand(o.value, shape) or full(0, shape, "f32")
end

-- Returns a range; its limits must be constants, since they determine the size of the result.
function inline_shape.range(start, limit, delta)
    local first, last, step = numbers(start)[1], numbers(limit)[1], numbers(delta)[1]
    assert(step ~= 0, "found a step of 0, expected another number")
    local n = tools.steps(first, last, step)
    assert(n == n and bound(n) <= 2 ^ 24, "found more than 2^24 numbers, expected fewer")
    return cast(iota({n}, 1), start) * step + first
end

-- Returns a matrix with 1 on diagonal k and 0 elsewhere.
function inline_shape.eye_like(x, o)
    assert(x.rank == 2, "found " .. x.rank .. " axes, expected a matrix")
    return cast(eq(iota(x.shape, 2), iota(x.shape, 1) + (o.k or 0)), o.dtype or x)
end

-- ---- parts ----

function inline_shape.concat(parts, o)
    return concat(parts, axis_of(parts[1], o.axis or 1))
end

-- Returns an end of a slice between low and high; a negative one counts from the end of the axis.
local function limit_end(at, size, low, high)
    if bound(at) < 0 then at = sizes(at, "+", size) end
    return sizes(sizes(at, ">", low), "<", high)
end

local function slice_axis(x, axis, start, finish, step)
    assert(step ~= 0 and step > -2 ^ 31, "found a step of 0, expected another number")
    local size, low = x:size(axis), step > 0 and 0 or -1
    local high = sizes(size, "+", low)
    start, finish = limit_end(start, size, 0, high), limit_end(finish, size, low, high)
    local n = tools.steps(start, finish, step)
    if step == 1 then return narrow(x, axis, n == 0 and 0 or start, n) end
    assert(type(size) == "number", "found a step of " .. step .. " along a length, expected 1, or --set")
    return tools.gather(x, iota({plain(n)}, 1) * step + plain(start), axis)
end

-- Slices x; the limits are attributes before version 10, and inputs since then.
function inline_shape.slice(x, o)
    local starts, ends, axes = tools.list(o.starts) or {}, tools.list(o.ends) or {}, tools.list(o.axes)
    local n, given = #starts, tools.list(o.steps) or {}
    if #ends ~= n or #(axes or ends) ~= n then
        error("found " .. n .. " starts and " .. #ends .. " ends, expected as many of both")
    end
    for i = 1, n do
        x = slice_axis(x, axis_of(x, axes and axes[i] or i - 1), starts[i], ends[i], given[i] or 1)
    end
    return x
end

-- Splits x; the sizes are an attribute before version 13, an input since then; without sizes, parts are equal.
function inline_shape.split(x, o)
    local axis, n, start, parts = axis_of(x, o.axis or 0), #o.outputs, 0, {}
    local given = tools.list(o.split)
    local all = x:size(axis)
    local each = sizes(sizes(all, "+", n - 1), "/", n)
    if (o.num_outputs or n) ~= n then
        error("found another num_outputs than its " .. n .. " outputs, expected as many")
    end
    if #(given or o.outputs) ~= n then
        error("found " .. #(given or {}) .. " sizes for " .. n .. " parts, expected one for each")
    end
    for i = 1, n do
        local size = given and given[i] or sizes(each, "<", sizes(all, "-", start))
        parts[i] = narrow(x, axis, start, size)
        start = sizes(start, "+", size)
    end
    return (table.unpack or unpack)(parts)
end

-- ---- what stays as it is ----

-- Returns x: dropout has no effect except in training.
function inline_shape.dropout(x, o)
    assert((o.training or 0) == 0 or o.ratio == 0,
        "found training_mode true, expected false, as it drops elements at random")
    return x, full(1, x.shape, "bool")
end

-- Returns the tensor of an optional, which is always present.
function inline_shape.optional(x)
    return x
end

function inline_shape.optional_has_element(x)
    return full(x and 1 or 0, {}, "bool")
end

return inline_shape
