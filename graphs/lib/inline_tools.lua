-- What the modules inline_math, inline_shape, inline_index and inline_norm share.
--
-- Their functions are operators of ONNX that import inlines: it calls them with terms, the expressions of the
-- script that it prints, so that the script has what they return, not a call of them.  Terms have the fields
-- and the functions of tensors, and some more (compiler/import/lua_terms.c).  A size that depends on lengths is
-- no number: sizes(a, "*", b) computes with it.  The options of an operator are the fields of a table.

local tools = {}

-- The layers of nn as terms: calls of these names, whose results have the shapes of their operands.
tools.nn = setmetatable({}, {__index = function(_, name)
    return function(x) return call("nn." .. name, x.shape, x, x) end
end})

-- Converts an axis of ONNX, which counts from 0 or from the end, to an axis of the language.
function tools.axis_of(x, axis)
    if axis < -x.rank or axis >= x.rank then
        error("found axis " .. axis .. " of a tensor of rank " .. x.rank .. ", expected an axis of the tensor")
    end
    return axis < 0 and axis + x.rank + 1 or axis + 1
end

-- Returns an option that is a list of numbers; a single number becomes a list.
function tools.list(numbers)
    assert(type(numbers) ~= "string", "found a text, expected numbers")
    if numbers == nil or type(numbers) == "table" then return numbers end
    return {numbers}
end

-- Returns a copy of a shape with another size of one axis.
function tools.resized(x, axis, size)
    local shape = x.shape
    shape[axis] = size
    return shape
end

-- Returns the product of two sizes.
function tools.times(a, b)
    if type(a) == "number" and type(b) == "number" and a < 2 ^ 31 then return a * b end
    return sizes(a, "*", b)
end

-- Returns the number of elements along some axes.
function tools.count(x, axes)
    local n, shape = 1, x.shape
    for _, axis in ipairs(axes) do n = tools.times(n, shape[axis]) end
    return n
end

-- Returns the list of the axes from one to the last.
function tools.axes_from(x, first)
    local axes = {}
    for axis = first, x.rank do axes[#axes + 1] = axis end
    return axes
end

-- Returns the number of elements of a range that begins at one number and ends before another.
function tools.steps(from, to, step)
    if type(from) == "number" and type(to) == "number" then return math.max(math.ceil((to - from) / step), 0) end
    local way = step > 0 and sizes(to, "-", from) or sizes(from, "-", to)
    return sizes(sizes(sizes(way, "+", math.abs(step) - 1), "/", math.abs(step)), ">", 0)
end

-- Returns all axes of x except one.
local function others(x, axis)
    local axes = {}
    for i = 1, x.rank do
        if i ~= axis then axes[#axes + 1] = i end
    end
    return axes
end

-- Picks elements along an axis by an index, whose axes replace that axis.  Consecutive indices become a slice;
-- others gather rows, booleans as integers.
function tools.gather(x, index, axis)
    local shape, first = {}, index.first
    if first then
        for i = 1, axis - 1 do shape[i] = x:size(i) end
        for _, size in ipairs(index.shape) do shape[#shape + 1] = size end
        for i = axis + 1, x.rank do shape[#shape + 1] = x:size(i) end
        return reshape(narrow(x, axis, first, index.elements), shape)
    end
    if x.dtype == "bool" then return ne(tools.gather(int(x), index, axis), 0) end
    if axis == 1 then return gather(x, index) end
    local front, back = others(x, axis), {}
    table.insert(front, 1, axis)
    local y = gather(permute(x, front), index)
    for i = 1, axis - 1 do back[i] = index.rank + i end
    for i = 1, index.rank do back[#back + 1] = i end
    for i = #back + 1, y.rank do back[i] = i end
    return permute(y, back)
end

-- Returns the mean over axes.
function tools.mean(x, axes, keep)
    if not x.is_data and #axes == 1 and keep then
        return call("nn.mean", tools.resized(x, axes[1], 1), x, x, axes[1])
    end
    return sum(x, axes, keep) / tools.count(x, axes)
end

return tools
