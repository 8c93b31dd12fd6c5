-- Functions that the modules onnx, onnx_conv, onnx_index, onnx_math, onnx_norm and onnx_pictures
-- share.

local tools = {}

-- Returns the float nearest to a number: rounds to the upper 24 of its 53 bits (Veltkamp 1968).
function tools.to_float(x)
    local high = x * (2 ^ 29 + 1)
    return math.abs(high) < math.huge and high - (high - x) or x
end

-- Returns a number, given as such or as the only item of a list.
function tools.number(x)
    if type(x) == "table" then
        assert(#x == 1, "found a list of " .. #x .. " numbers, expected one number")
        return x[1]
    end
    return x
end

-- Converts an axis of ONNX to an axis of the language.
function tools.axis_of(x, axis)
    assert(axis >= -x.rank and axis < x.rank,
        "found axis " .. axis .. " of a tensor of rank " .. x.rank .. ", expected an axis of the tensor")
    return axis < 0 and axis + x.rank + 1 or axis + 1
end

-- Returns whole numbers as an i32 tensor; as an iota if they are start, start + step, ...
function tools.indices(list)
    local step, counted = (list[2] or list[1]) - list[1], true
    for i = 2, #list do counted = counted and list[i] - list[i - 1] == step end
    if not counted or #list < 3 then return const(list, {#list}, "i32") end
    local y = iota({#list}, 1)
    if step ~= 1 then y = y * step end
    return list[1] == 0 and y or y + list[1]
end

-- Returns a permutation that moves one axis to the front, and the inverse permutation.
function tools.to_front(rank, axis)
    local front, back = {axis}, {}
    for i = 1, rank do
        if i ~= axis then front[#front + 1] = i end
    end
    for i, from in ipairs(front) do back[from] = i end
    return front, back
end

-- Takes elements along an axis by indices known when the graph is built.
function tools.take(x, axis, list)
    local is_range = true
    for i = 2, #list do is_range = is_range and list[i] == list[i - 1] + 1 end
    if is_range then return narrow(x, axis, list[1], #list) end
    if x.dtype == "bool" then return ne(tools.take(int(x), axis, list), 0) end
    if axis == 1 then return gather(x, tools.indices(list)) end
    local front, back = tools.to_front(x.rank, axis)
    return permute(gather(permute(x, front), tools.indices(list)), back)
end

-- Returns the mean over axes, which keep size 1.
function tools.mean(x, axes)
    local count = 1
    for _, axis in ipairs(axes) do count = count * x:size(axis) end
    return sum(x, axes) / count
end

-- Reshapes a tensor of n elements to `rank` axes, with all elements along one of them.
function tools.along(x, rank, axis)
    local shape = {}
    for i = 1, rank do shape[i] = i == axis and -1 or 1 end
    return reshape(x, shape)
end

function tools.clamp(x, low, high)
    return minimum(maximum(x, low), high)
end

-- Returns the choice with a name; for an unknown name raises an error that says what it should be.
function tools.choose(what, choices, name)
    assert(choices[name] ~= nil, "found " .. what .. " '" .. name .. "', expected a value that ONNX names for it")
    return choices[name]
end

-- Adds elements with a value before and after those of an axis; negative numbers crop.
function tools.pad(x, axis, before, after, value)
    local size = x:size(axis)
    if before < 0 or after < 0 then
        local start, finish = math.max(0, -before), size + math.min(0, after)
        assert(finish > start,
            "found an empty slice of an axis of size " .. size .. ", expected at least one element")
        x = narrow(x, axis, start, finish - start)
    end
    local parts, shape = {}, x.shape
    local function add(n)
        shape[axis] = n
        if n > 0 then parts[#parts + 1] = const(value, shape, x.dtype) end
    end
    add(before)
    parts[#parts + 1] = x
    add(after)
    return #parts > 1 and concat(parts, axis) or x
end

-- The number of bits of ONNX's narrow integer types; other types are i32, and 64-bit ones wrap at 32 bits.
tools.bits_of = {uint8 = 8, int8 = 8, uint16 = 16, int16 = 16}

-- Wraps an i32 tensor to the range of an integer type.
function tools.wrap(x, type)
    local bits = tools.bits_of[type]
    if not bits then return x end
    if type == "uint8" or type == "uint16" then return x % 2 ^ bits end
    local half = 2 ^ (bits - 1)
    return (x + half) % (2 * half) - half
end

return tools
