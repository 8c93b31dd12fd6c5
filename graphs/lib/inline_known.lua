-- Operators of ONNX that are computed at import, from elements that have to be known: the shape of the result depends
-- on them, or the language has no such operation.  See inline_tools.lua.

local tools = require "inline_tools"

local inline_known = {}

-- Returns a list of whole numbers as an i32 tensor of one axis.
local function row(list)
    return const(list, {#list}, "i32")
end

-- Returns the elements at positions along an axis, or of the flattened x if there is no axis.
local function take(x, places, axis)
    if not axis then x, axis = reshape(x, {x.elements}), 0 end
    axis = tools.axis_of(x, axis)
    for _, place in ipairs(places) do
        if place >= bound(x:size(axis)) then
            error("found index " .. place .. ", expected one below " .. bound(x:size(axis)))
        end
    end
    return tools.gather(x, row(places), axis)
end

-- Returns the elements or slices where the condition is true.
function inline_known.compress(x, condition, o)
    local places = {}
    for i, c in ipairs(numbers(condition, true)) do
        if c ~= 0 then places[#places + 1] = i - 1 end
    end
    return take(x, places, o.axis)
end

-- Returns the indices of the elements that are not 0: one row for each axis.
function inline_known.non_zero(x)
    local places, indices, inner, shape = {}, {}, x.elements, x.shape
    for i, element in ipairs(numbers(x, true)) do
        if element ~= 0 then places[#places + 1] = i - 1 end
    end
    for axis = 1, x.rank do
        inner = math.floor(inner / math.max(shape[axis], 1))
        for _, place in ipairs(places) do
            indices[#indices + 1] = math.floor(place / inner) % shape[axis]
        end
    end
    return const(indices, {x.rank, #places}, "i32")
end

-- ---- BitCast ----

-- Types whose bits fit in a Lua number: how many bits, and whether the highest one is a sign.
local bits = {
    float = {32}, int32 = {32, true}, uint32 = {32}, int16 = {16, true}, uint16 = {16},
    int8 = {8, true}, uint8 = {8}, bool = {8},
}

-- Returns the bits of a float, as a number.
local function bits_of_float(x)
    if x ~= x then error("found the bits of a NaN, expected a number, as bits of NaN are not kept") end
    local sign = (x < 0 or 1 / x < 0) and 2 ^ 31 or 0
    local size, exponent = math.abs(x), -126
    while exponent < 127 and size >= 2 ^ (exponent + 1) do exponent = exponent + 1 end
    local units = size / 2 ^ (exponent - 23) -- the mantissa; rounded to even
    local whole = units < 2 ^ 24 and math.floor(units) or 2 ^ 24
    local rest = units < 2 ^ 24 and units - whole or 0
    if rest > 0.5 or (rest == 0.5 and whole % 2 == 1) then whole = whole + 1 end
    return sign + (exponent + 126) * 2 ^ 23 + whole
end

-- Returns the float that has the bits.
local function float_of_bits(n)
    local sign, exponent, mantissa = n >= 2 ^ 31 and -1 or 1, math.floor(n / 2 ^ 23) % 256, n % 2 ^ 23
    if exponent == 255 then return mantissa == 0 and sign * math.huge or 0 / 0 end
    if exponent == 0 then return sign * mantissa * 2.0 ^ -149 end
    return sign * (mantissa + 2 ^ 23) * 2.0 ^ (exponent - 150)
end

-- Reinterprets the bits of x as elements of another type with as many bits.
function inline_known.bit_cast(x, o)
    local like = full(0, {}, o.to)
    local from, to, list = bits[x.type], bits[like.type], {}
    if x.type == like.type then return x end
    if not from or not to or from[1] ~= to[1] then
        error("found the bits of type " .. x.type .. " read as type " .. like.type .. ", expected types of one size")
    end
    for i, element in ipairs(numbers(x, true)) do
        local n = x.type == "float" and bits_of_float(element) or element % 2 ^ from[1]
        if to[2] and n >= 2 ^ (to[1] - 1) then n = n - 2 ^ to[1] end
        list[i] = like.type == "float" and float_of_bits(n) or n
    end
    return const(list, x.shape, like)
end

-- ---- Unique ----

-- True if a is before b; NaN are equal, and behind all numbers.
local function is_less(a, b)
    return a < b or (a == a and b ~= b)
end

-- Returns the slices along an axis of x, or its elements if there is no axis, as a list of lists.
local function slices_of(x, o)
    local elements, slices = numbers(x, true), {}
    if not o.axis then
        for i, element in ipairs(elements) do slices[i] = {element} end
        return slices
    end
    local axis, inner = tools.axis_of(x, o.axis), 1
    for i = axis + 1, x.rank do inner = inner * x:size(i) end
    for i = 1, x:size(axis) do slices[i] = {} end
    for i, element in ipairs(elements) do
        local slice = slices[math.floor((i - 1) / inner) % x:size(axis) + 1]
        slice[#slice + 1] = element
    end
    return slices
end

-- True if slice a comes before slice b in order of content.
local function is_before(a, b)
    for i = 1, #a do
        if is_less(a[i], b[i]) then return true end
        if is_less(b[i], a[i]) then return false end
    end
    return false
end

-- Groups equal slices.  Groups are in order of content or, if they are not sorted, of their first slices. Returns
-- the first slice of each group, its position, the number of the group of each slice, and the number of slices of
-- each group.
function inline_known.unique(x, o)
    local slices, order, groups = slices_of(x, o), {}, {}
    for i = 1, #slices do order[i] = i end
    table.sort(order, function(i, j)
        if is_before(slices[i], slices[j]) then return true end
        return i < j and not is_before(slices[j], slices[i])
    end)
    for k, i in ipairs(order) do
        if k == 1 or is_before(slices[order[k - 1]], slices[i]) then groups[#groups + 1] = {} end
        table.insert(groups[#groups], i)
    end
    if o.sorted == 0 then table.sort(groups, function(a, b) return a[1] < b[1] end) end
    local first, count, of = {}, {}, {}
    for k, members in ipairs(groups) do
        first[k], count[k] = members[1] - 1, #members
        for _, i in ipairs(members) do of[i] = k - 1 end
    end
    return take(x, first, o.axis), row(first), row(of), row(count)
end

-- ---- NonMaxSuppression ----

-- Returns the ends of a box along both axes, given any two opposite corners, or centre, width and height.
local function ends_of(boxes, at, is_centred)
    local b = {}
    for i = 1, 4 do b[i] = boxes[at + i] end
    if is_centred then
        return {{b[2] - b[4] / 2, b[2] + b[4] / 2}, {b[1] - b[3] / 2, b[1] + b[3] / 2}}
    end
    return {{math.min(b[1], b[3]), math.max(b[1], b[3])}, {math.min(b[2], b[4]), math.max(b[2], b[4])}}
end

-- The intersection of two boxes over their union.
local function overlap_of(a, b)
    local shared, area_a, area_b = 1, 1, 1
    for axis = 1, 2 do
        local p, q = a[axis], b[axis]
        shared = shared * math.max(math.min(p[2], q[2]) - math.max(p[1], q[1]), 0)
        area_a, area_b = area_a * (p[2] - p[1]), area_b * (q[2] - q[1])
    end
    return shared > 0 and shared / (area_a + area_b - shared) or 0
end

-- Selects boxes in order of decreasing score, among n scores from `at` on, that overlap no box selected before.
local function select_boxes(boxes, scores, at, n, o)
    local order, selected = {}, {}
    for i = 1, n do
        if scores[at + i] > o.least then order[#order + 1] = i end
    end
    table.sort(order, function(i, j)
        local a, b = scores[at + i], scores[at + j]
        return a > b or (a == b and i < j)
    end)
    for _, i in ipairs(order) do
        local is_free = #selected < o.most
        for k = 1, is_free and #selected or 0 do
            if overlap_of(boxes[selected[k]], boxes[i]) > o.overlap then
                is_free = false
                break
            end
        end
        if is_free then selected[#selected + 1] = i end
    end
    return selected
end

-- Returns the only element of a tensor, or `otherwise` if there is no tensor.
local function only(x, otherwise)
    local list = x and numbers(x, true) or {}
    assert(#list <= 1, "found a list of numbers, expected one number")
    return list[1] or otherwise
end

-- Returns the selected boxes of each batch and class as rows {batch, class, box}.
function inline_known.non_max_suppression(boxes, scores, most, overlap, least, o)
    local shape, of = boxes.shape, scores.shape
    assert(#shape == 3 and #of == 3 and shape[3] == 4 and shape[1] == of[1] and shape[2] == of[3]
        and bound(of[3]) <= 4096, "found boxes of " .. #shape .. " axes and scores of " .. #of ..
            ", expected [B, n, 4] and [B, classes, n] with n up to 4096")
    local ends, scored, n, rows = numbers(boxes, true), numbers(scores, true), of[3], {}
    local limits = {most = only(most, 0), overlap = only(overlap, 0), least = only(least, -math.huge)}
    for batch = 0, of[1] - 1 do
        local sides = {}
        for i = 1, n do
            sides[i] = ends_of(ends, 4 * (batch * n + i - 1), (o.center_point_box or 0) ~= 0)
        end
        for class = 0, of[2] - 1 do
            for _, i in ipairs(select_boxes(sides, scored, (batch * of[2] + class) * n, n, limits)) do
                for _, x in ipairs{batch, class, i - 1} do rows[#rows + 1] = x end
            end
        end
    end
    return const(rows, {#rows / 3, 3}, "i32")
end

return inline_known
