-- Operators of ONNX whose result has a shape that depends on elements; see onnx.lua.  Import calls them
-- with known elements, as lists, and `shapes` of them.  A script has the numbers that they return.

local tools = require "onnx_tools"

local onnx_known = {}

-- The result as a row of whole numbers: the rank, the sizes, the elements.
local function packed(shape, elements)
    local row = {#shape}
    for _, size in ipairs(shape) do row[#row + 1] = size end
    for _, x in ipairs(elements) do row[#row + 1] = x end
    return const(row, {#row}, "i32")
end

-- The places where the condition is true.
function onnx_known.compress(config)
    local o = layer_options("onnx_known.compress", config or {}, {
        axis = "whole?", condition = "table?", shapes = "table"})
    local places = {}
    for i, x in ipairs(o.condition or {}) do
        if x ~= 0 then places[#places + 1] = i - 1 end
    end
    return packed({#places}, places)
end

-- ---- Unique ----

-- True if a is before b; NaN are equal, and behind all numbers.
local function is_less(a, b)
    return a < b or (a == a and b ~= b)
end

-- Slices along an axis of x, or elements if there is none: a list of lists.
local function slices_of(o)
    local x, shape, slices = o.x or {}, o.shapes[1], {}
    if not o.axis then
        for i, element in ipairs(x) do slices[i] = {element} end
        return slices
    end
    local axis, inner = tools.axis_of({rank = #shape}, o.axis), 1
    for i = axis + 1, #shape do inner = inner * shape[i] end
    for i = 1, shape[axis] do slices[i] = {} end
    for i, element in ipairs(x) do
        local slice = slices[math.floor((i - 1) / inner) % shape[axis] + 1]
        slice[#slice + 1] = element
    end
    return slices
end

-- True if slice a is before slice b.
local function is_before(a, b)
    for i = 1, #a do
        if is_less(a[i], b[i]) then return true end
        if is_less(b[i], a[i]) then return false end
    end
    return false
end

-- Groups equal slices; groups are in order of content, or of their first slices if they are not sorted.
-- Returns the place of the first slice of each group, its number of slices, and the group of each slice.
local function group(name, config)
    local o = layer_options(name, config or {}, {
        axis = "whole?", sorted = {"whole", 1}, x = "table?", shapes = "table"})
    local slices, order, groups = slices_of(o), {}, {}
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
    return first, count, of
end

-- The places of the first slices of different content.
function onnx_known.unique(config)
    local first = group("onnx_known.unique", config)
    return packed({#first}, first)
end

-- For each slice, the number of the slice among those of different content that it equals.
function onnx_known.unique_inverse(config)
    local _, _, of = group("onnx_known.unique_inverse", config)
    return packed({#of}, of)
end

-- For each slice of different content, how many slices equal it.
function onnx_known.unique_counts(config)
    local _, count = group("onnx_known.unique_counts", config)
    return packed({#count}, count)
end

-- ---- NonMaxSuppression ----

-- The ends of a box along both axes: corners in any order, or the centre, the width and the height.
local function ends_of(boxes, at, is_centred)
    local b = {}
    for i = 1, 4 do b[i] = tools.to_float(boxes[at + i]) end
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

-- Selects boxes by decreasing score that overlap none selected before, from n scores from `at` on.
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

-- The selected boxes of each batch and class as rows {batch, class, box}.
function onnx_known.non_max_suppression(config)
    local o = layer_options("onnx_known.non_max_suppression", config or {}, {
        boxes = "table?", scores = "table?", most = {"number|table", 0}, overlap = {"number|table", 0},
        least = {"number|table", -math.huge}, center_point_box = {"whole", 0}, shapes = "table"})
    local shape, of = o.shapes[1], o.shapes[2]
    assert(#shape == 3 and #of == 3 and shape[3] == 4 and shape[1] == of[1] and shape[2] == of[3]
        and of[3] <= 4096, "found boxes of " .. #shape .. " axes and scores of " .. #of ..
            ", expected [B, n, 4] and [B, classes, n] with n up to 4096")
    local n, rows, limits = of[3], {}, {
        most = tools.number(o.most), overlap = tools.to_float(tools.number(o.overlap)),
        least = tools.number(o.least)}
    for batch = 0, of[1] - 1 do
        local boxes = {}
        for i = 1, n do
            boxes[i] = ends_of(o.boxes, 4 * (batch * n + i - 1), o.center_point_box ~= 0)
        end
        for class = 0, of[2] - 1 do
            for _, i in ipairs(select_boxes(boxes, o.scores, (batch * of[2] + class) * n, n, limits)) do
                for _, x in ipairs{batch, class, i - 1} do rows[#rows + 1] = x end
            end
        end
    end
    return packed({#rows / 3, 3}, rows)
end

return onnx_known
