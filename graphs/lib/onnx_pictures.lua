-- Operators of ONNX that read a picture between its elements; see onnx.lua.

local tools = require "onnx_tools"
local to_float, to_front, take, along = tools.to_float, tools.to_front, tools.take, tools.along
local clamp, choose, bits_of, axis_of = tools.clamp, tools.choose, tools.bits_of, tools.axis_of

local onnx_pictures = {}

-- ---- Resize ----

local MOST_SIZE, MOST_REACH, MOST_SUMMANDS = 2 ^ 20, 2 ^ 28, 4

-- Where element i of the result lies, in elements of the input.  `a` is an axis: its sizes `input`
-- and `output`; `scale`; `width`, the output's size before it was rounded down; from `start` to
-- `finish` it is cropped.
local function half_pixel(a, i)
    return a.by_scale and (i + 0.5) / a.scale - 0.5 or (i + 0.5) * a.input / a.output - 0.5
end

local coordinates = {
    half_pixel = half_pixel,
    asymmetric = function(a, i)
        return a.by_scale and i / a.scale or i * a.input / a.output
    end,
    align_corners = function(a, i)
        return a.width == 1 and 0 or i * (a.input - 1) / (a.width - 1)
    end,
    pytorch_half_pixel = function(a, i)
        return a.output > 1 and half_pixel(a, i) or 0
    end,
    half_pixel_symmetric = function(a, i)
        return half_pixel(a, i) + a.input / 2 * (1 - a.output / a.width)
    end,
    tf_crop_and_resize = function(a, i)
        local last = a.input - 1
        if a.output == 1 then return (a.start + a.finish) / 2 * last end
        return a.start * last + i * (a.finish - a.start) * last / (a.output - 1)
    end,
}

-- By mode: true if the nearest element is the upper neighbour, given the distance from the lower
-- neighbour.
local nearest_modes = {
    floor = function() return false end,
    ceil = function(rest) return rest > 0 end,
    round_prefer_ceil = function(rest) return rest >= 0.5 end,
    round_prefer_floor = function(rest) return rest > 0.5 end,
}

-- By mode: the weight of an element at distance x, and the largest distance with a weight.
local filters = {
    linear = function(x)
        return x < 1 and 1 - x or 0
    end,
    cubic = function(x, a)
        if x <= 1 then return ((a + 2) * x - (a + 3)) * x * x + 1 end
        return x < 2 and ((a * x - 5 * a) * x + 8 * a) * x - 4 * a or 0
    end,
}
local reaches = {linear = 1, cubic = 2}

-- True for a coordinate outside the picture in the mode tf_crop_and_resize: it gets the extrapolation value.
local function is_outside(o, a, x)
    return o.coordinates == coordinates.tf_crop_and_resize and not (x >= 0 and x <= a.input - 1)
end

-- The nearest elements of all of the result.  A scale that is given is a float, of which a double
-- would take 3 / 0.6f for less than 5: the float that the coordinate rounds to decides.
local function find_nearest(o, a)
    local list = {}
    for i = 1, a.output do
        local x = o.coordinates(a, i - 1)
        if a.by_scale then x = to_float(x) end
        local below = math.floor(x)
        local at = o.nearest(x - below) and below + 1 or below
        list[i] = is_outside(o, a, x) and 0 or math.max(0, math.min(at, a.input - 1))
    end
    return list
end

-- Takes the nearest elements: if each is repeated equally often, by reshape and expand, else by their indices.
local function take_nearest(x, axis, list)
    local size, times, repeats = x:size(axis), #list / x:size(axis), x.rank < 8 and #list > x:size(axis)
    for i, index in ipairs(list) do
        repeats = repeats and index == math.floor((i - 1) / times)
    end
    if not repeats or #list % size ~= 0 then return take(x, axis, list) end
    local narrow_shape, wide, shape = {}, {}, x.shape
    for i, n in ipairs(shape) do
        narrow_shape[#narrow_shape + 1], wide[#wide + 1] = n, n
        if i == axis then narrow_shape[#narrow_shape + 1], wide[#wide + 1] = 1, times end
    end
    shape[axis] = #list
    return reshape(expand(reshape(x, narrow_shape), wide), shape)
end

-- Returns the indices and weights of the summands of one element of the result.  Positions beyond the ends are
-- replaced by those at the ends, or excluded; antialiasing stretches the filter when the axis shrinks.  Weights
-- of 0 are omitted, so that NaN and infinities reach no further than the filter.
local function summands_of(o, a, x)
    local stretch = o.antialias ~= 0 and a.scale < 1 and a.scale or 1
    local reach, list, weights, total = o.reach / stretch, {}, {}, 0
    local at = math.floor(x - reach) + 1
    while at < x + reach do
        local w = o.filter(math.abs((at - x) * stretch), o.cubic_a)
        local i = math.max(0, math.min(at, a.input - 1))
        if w ~= 0 and not (o.exclude_outside ~= 0 and i ~= at) then
            total = total + w
            if list[#list] == i then
                weights[#list] = weights[#list] + w
            else
                list[#list + 1], weights[#list + 1] = i, w
            end
        end
        at = at + 1
    end
    for i, w in ipairs(weights) do weights[i] = w / total end
    return list, weights
end

-- Returns the summands of all elements, equally many for each: the last is split in halves, which keeps sums.
local function all_summands(o, a)
    local lists, weights, most = {}, {}, 1
    for i = 1, a.output do
        local x = o.coordinates(a, i - 1)
        lists[i], weights[i] = {}, {}
        if not is_outside(o, a, x) then lists[i], weights[i] = summands_of(o, a, x) end
        most = math.max(most, #lists[i])
    end
    for i, list in ipairs(lists) do
        local w = weights[i]
        if #list == 0 then list[1], w[1] = 0, 0 end
        for k = #list + 1, most do
            w[k - 1] = w[k - 1] / 2
            list[k], w[k] = list[k - 1], w[k - 1]
        end
    end
    return lists, weights, most
end

-- Returns a constant that varies along one axis only, expanded to all axes.
local function of_rows(list, rank, sizes)
    for i = #sizes + 1, rank do sizes[i] = 1 end
    return const(list, sizes)
end

-- Returns weighted sums of rows: summand by summand or, if there are many, as a sum over an axis.
local function sum_rows(x, o, a)
    local lists, weights, most = all_summands(o, a)
    if most > MOST_SUMMANDS then
        local flat, factors = {}, {}
        for i, list in ipairs(lists) do
            for k = 1, most do
                flat[#flat + 1], factors[#factors + 1] = list[k], weights[i][k]
            end
        end
        local rows = gather(x, const(flat, {a.output, most}, "i32"))
        return sum(rows * of_rows(factors, rows.rank, {a.output, most}), 2, false)
    end
    local total
    for k = 1, most do
        local list, factors = {}, {}
        for i = 1, a.output do list[i], factors[i] = lists[i][k], weights[i][k] end
        local rows = take(x, 1, list) * of_rows(factors, x.rank, {a.output})
        total = total and total + rows or rows
    end
    return total
end

-- Inserts the extrapolation value where the result lies outside the input.
local function extrapolate(y, axis, o, a)
    local list, any = {}, false
    for i = 1, a.output do
        list[i] = is_outside(o, a, o.coordinates(a, i - 1))
        any = any or list[i]
    end
    if not any then return y end
    return where(along(const(list, {a.output}, "bool"), y.rank, axis), o.extrapolation_value, y)
end

-- Resizes one axis: keeps it if size and place are equal, takes nearest elements, or computes weighted sums.
local function resize_axis(x, axis, o, a)
    local cropped = o.coordinates == coordinates.tf_crop_and_resize and (a.start ~= 0 or a.finish ~= 1)
    if a.scale == 1 and a.input == a.output and not cropped then return x end
    if not o.filter then return extrapolate(take_nearest(x, axis, find_nearest(o, a)), axis, o, a) end
    local front, back = to_front(x.rank, axis)
    return extrapolate(permute(sum_rows(permute(x, front), o, a), back), axis, o, a)
end

-- Rounds linear and cubic results for integers, and clips them to the type's range.
local function to_integers(y, type)
    local bits, unsigned = bits_of[type] or 32, type ~= nil and type:find("^uint") ~= nil
    local low, high = unsigned and 0 or -2 ^ (bits - 1), unsigned and 2 ^ bits - 1 or 2 ^ (bits - 1) - 1
    if bits == 32 then high = 2147483520 end -- the largest float that is an i32
    return int(clamp(round(y), low, high))
end

-- Sets the size from a scale: the product, computed in floats as in other programs, is rounded down.
local function set_scale(a, scale)
    a.scale, a.by_scale = to_float(scale), true
    a.width = to_float(a.scale * a.input)
    a.output = a.width < 2 * MOST_SIZE and math.floor(a.width) or -1
end

local function set_size(a, size)
    if type(size) ~= "number" then return end -- a length
    a.output, a.width, a.scale = size, size, size / a.input
end

-- Sets all scales to the smallest or the largest one; sizes follow from them.
local function keep_aspect_ratio(axes, policy)
    local scale = axes[1].scale
    for _, a in ipairs(axes) do
        scale = (policy == "not_smaller" and math.max or math.min)(scale, a.scale)
    end
    for _, a in ipairs(axes) do
        a.scale, a.by_scale, a.width = scale, true, scale * a.input
        a.output = a.width < MOST_SIZE and math.floor(a.width + 0.5) or -1
    end
end

-- Returns the axes of x, with scales or sizes for the axes that are resized.
local function read_axes(x, o)
    local all, named, given = {}, {}, o.scales or o.sizes or {}
    for i, n in ipairs(x.shape) do
        all[i] = {input = n, output = n, width = n, scale = 1, start = 0, finish = 1}
        if not o.axes then named[i] = all[i] end
    end
    for i, axis in ipairs(o.axes or {}) do
        named[i] = all[axis_of(x, axis)]
    end
    local cropped = o.coordinates == coordinates.tf_crop_and_resize
    local fits = #given == #named and #named > 0 and (not cropped or (o.roi and #o.roi == 2 * #named))
    assert(fits, "found " .. #given .. " scales or sizes, expected " .. #named .. ", one for each axis" ..
        (cropped and ", and a known `roi` of " .. 2 * #named .. " numbers" or ""))
    for i, a in ipairs(named) do
        if o.scales then set_scale(a, given[i]) else set_size(a, given[i]) end
        if cropped then a.start, a.finish = to_float(o.roi[i]), to_float(o.roi[#named + i]) end
    end
    if not o.scales and o.keep_aspect_ratio_policy ~= "stretch" then
        keep_aspect_ratio(named, o.keep_aspect_ratio_policy)
    end
    return all
end

-- Resizes along each axis in turn.
local function resize_all(x, o, axes)
    local y = o.filter and x.dtype ~= "f32" and float(x) or x
    for i, a in ipairs(axes) do
        local fits = a.output >= 1 and a.output <= MOST_SIZE and a.input <= MOST_SIZE and a.scale > 0 and
            a.output / a.scale <= MOST_REACH
        assert(fits, "axis " .. (i - 1) .. ": found " .. a.input .. " elements resized to " .. a.output ..
            ", expected 1 to " .. MOST_SIZE .. " elements and a smaller scale")
        if o.coordinates == coordinates.align_corners and o.whole_width then a.width = a.output end
        y = resize_axis(y, i, o, a)
    end
    return o.filter and x.dtype ~= "f32" and to_integers(y, o.type) or y
end

local resize_options = {
    mode = {"string", "nearest"}, coordinate_transformation_mode = {"string", "half_pixel"},
    nearest_mode = {"string", "round_prefer_floor"}, antialias = {"whole", 0}, exclude_outside = {"whole", 0},
    cubic_coeff_a = {"number", -0.75}, extrapolation_value = {"number", 0},
    keep_aspect_ratio_policy = {"string", "stretch"}, axes = "table?", roi = "table?", scales = "table?",
    sizes = "table?", pytorch = "boolean?", version = "number?", type = "string?",
}

-- Names of ways become the ways.  What PyTorch computes, and exports, aligns corners with whole
-- sizes; ONNX does so with the size times the scale.
local function read_resize(name, config)
    local o = layer_options(name, config or {}, resize_options)
    if o.mode ~= "nearest" then o.filter = choose("mode", filters, o.mode) end
    return {
        filter = o.filter, reach = reaches[o.mode], cubic_a = to_float(o.cubic_coeff_a),
        coordinates = choose("coordinates", coordinates, o.coordinate_transformation_mode),
        nearest = choose("nearest_mode", nearest_modes, o.nearest_mode), antialias = o.antialias,
        exclude_outside = o.exclude_outside, extrapolation_value = o.extrapolation_value,
        keep_aspect_ratio_policy = o.keep_aspect_ratio_policy, axes = o.axes, roi = o.roi, scales = o.scales,
        sizes = o.sizes, version = o.version, type = o.type, whole_width = o.pytorch,
    }
end

-- Before version 11 coordinates were divided by the scale; the nearest was below, and above where
-- an axis shrinks.
local function resize_as_before(x, o)
    o.coordinates, o.nearest, o.axes = coordinates.asymmetric, nearest_modes.floor, nil
    local axes = read_axes(x, o)
    for _, a in ipairs(axes) do
        if a.scale < 1 then o.nearest = nearest_modes.ceil end
    end
    return resize_all(x, o, axes)
end

-- An element of the result is the sum of a few elements times weights, along each axis in turn.
function onnx_pictures.resize(x, config)
    local o = read_resize("onnx_pictures.resize", config)
    if o.version then
        o.scales = o.roi -- the second input
        return resize_as_before(x, o)
    end
    return resize_all(x, o, read_axes(x, o))
end

-- The operator Upsample, an older form of Resize.
function onnx_pictures.upsample(x, config)
    return resize_as_before(x, read_resize("onnx_pictures.upsample", config))
end

-- ---- pictures that are read between their elements ----
--
-- Coordinates are known only when the model runs.  A picture [N, C, d1, d2, ..] becomes a table
-- with a row of C channels for each place; along each axis a coordinate has the indices of its
-- neighbours and their weights, as an axis of its own behind those of the coordinates.

-- Neighbours from the one at `first` on, of the one below; their weights are polynomials of the
-- distance from that one, the highest power last.
local A = -0.75
local nearest = {first = 0, {1}}
local linear = {first = 0, {1, 0}, {-1, 1}}
local cubic = {
    first = -1, {0, 1, 0, 0}, {A, 0, -A, 0}, {-2 * A, -(A + 3), 2 * A + 3, A}, {A, A + 2, -(A + 2), -A},
}
-- The names of the interpolations; before version 20 they were those of PyTorch.
local kernels = {
    nearest = nearest, linear = linear, bilinear = linear, cubic = cubic, bicubic = cubic,
}

-- Reflects coordinates at both ends until they are between them.
local function reflect(x, low, high)
    local span = high - low
    if span <= 0 then return x * 0 end
    local way = (x - low) % (2 * span)
    return minimum(way, 2 * span - way) + low
end

-- Neighbours of coordinates [..] along axis a of a picture of r axes: indices, weights and which
-- are inside, [coordinates.., 1.., n, 1..].  `corner`: how far beyond the middle of the first and
-- last element the picture is reflected.
local function neighbours(x, a, r, size, kernel, padding, corner)
    local n, offsets, last = #kernel[1], {}, size - 1
    local rank, axis, shape = x.rank + r, x.rank + a, x.shape
    for i = 1, n do offsets[i] = kernel.first + i - 1 end
    for i = x.rank + 1, rank do shape[i] = 1 end
    local function of_neighbours(list) return along(const(list, {n}), rank, axis) end
    x = reshape(x, shape)
    local below = n == 1 and round(x) or floor(x)
    local at, found = below + of_neighbours(offsets), {size = size}
    if padding == "zeros" then found.valid = logical_and(ge(at, 0), le(at, last)) end
    if padding == "reflection" then at = reflect(at, -corner, last + corner) end
    found.index = int(clamp(at, 0, last))
    if n == 1 then return found end
    local distance = x - below
    found.weight = of_neighbours(kernel[#kernel])
    for power = #kernel - 1, 1, -1 do
        found.weight = distance * found.weight + of_neighbours(kernel[power])
    end
    return found
end

-- Reshapes a picture to rows of channels, one for each position.
local function rows_of(x)
    local order = {1}
    for i = 3, x.rank do order[i - 1] = i end
    order[x.rank] = 2
    return reshape(permute(x, order), {-1, x:size(2)})
end

-- The rows of all neighbours times their weights, [coordinates.., n.., C]; 0 where one is outside. 
-- `batch` is the picture's number, of the rank of the indices.
local function weighted_rows(x, batch, neighbours_of)
    local index, weight, valid = batch, nil, nil
    for _, n in ipairs(neighbours_of) do
        index = index * n.size + n.index
        if n.weight then weight = weight and weight * n.weight or n.weight end
        if n.valid then valid = valid and logical_and(valid, n.valid) or n.valid end
    end
    local function beside_channels(y)
        local shape = y.shape
        shape[#shape + 1] = 1
        return reshape(y, shape)
    end
    local rows = gather(rows_of(x), index)
    if valid then rows = where(beside_channels(valid), rows, 0) end
    return weight and rows * beside_channels(weight) or rows
end

-- Moves the last axis, of channels, to the second position.
local function channels_first(x)
    local order = {1, x.rank}
    for i = 3, x.rank do order[i] = i - 1 end
    return permute(x, order)
end

-- Coordinates between -1 and 1 in elements: these are the middles of the first and last one, or
-- their outer ends.  The last coordinate of a place is that of the first axis.
local function grid_coordinate(grid, a, size, corners)
    local shape = grid.shape
    shape[grid.rank] = nil
    local x = reshape(narrow(grid, grid.rank, grid:size(-1) - a, 1), shape) + 1
    return corners and x / 2 * (size - 1) or (x * size - 1) / 2
end

-- Each element of the result is a sum over the neighbours of its coordinate, along all axes at once.
function onnx_pictures.grid_sample(x, grid, config)
    local o = layer_options("onnx_pictures.grid_sample", config or {}, {
        align_corners = {"whole", 0}, mode = {"string", "linear"}, padding_mode = {"string", "zeros"}})
    local kernel, corners, r = choose("mode", kernels, o.mode), o.align_corners ~= 0, x.rank - 2
    choose("padding_mode", {zeros = true, border = true, reflection = true}, o.padding_mode)
    local fits = r >= 1 and r <= 3 and grid.rank == x.rank and grid:size(-1) == r and
        grid:size(1) == x:size(1)
    assert(fits, "found a picture " .. tostring(x) .. " and a grid " .. tostring(grid) ..
        ", expected [N, C, d..] with 1 to 3 axes d, and [N, d.., coordinates] with one for each of them")
    local found, axes = {}, {}
    for a = 1, r do
        local at = grid_coordinate(grid, a, x:size(2 + a), corners)
        found[a] = neighbours(at, a, r, x:size(2 + a), kernel, o.padding_mode, corners and 0 or 0.5)
        axes[a] = grid.rank - 1 + a
    end
    local batch = along(iota({x:size(1)}, 1), grid.rank - 1 + r, 1)
    return channels_first(sum(weighted_rows(x, batch, found), axes, false))
end

-- Returns coordinates between -1 and 1 along an axis of a grid.
local function places(rank, axis, size, corners)
    local at = {}
    for i = 0, size - 1 do
        at[i + 1] = not corners and (2 * i + 1) / size - 1 or size == 1 and 0 or 2 * i / (size - 1) - 1
    end
    return along(const(at), rank, axis)
end

-- Matrices [N, r, r + 1] times the places of a picture [N, C, d..] and 1: a sum over axes, of which
-- the last one comes first in a matrix.
function onnx_pictures.affine_grid(theta, config)
    local o = layer_options("onnx_pictures.affine_grid", config or {}, {
        align_corners = {"whole", 0}, size = "table"})
    local r, fits, grid = #o.size - 2, true, nil
    for a = 1, r do
        local n = o.size[2 + a]
        fits = fits and type(n) == "number" and n >= 1 and n <= MOST_SIZE
    end
    fits = fits and r >= 2 and r <= 3 and theta.rank == 3 and theta:size(2) == r and theta:size(3) == r + 1
    assert(fits, "found matrices " .. tostring(theta) .. " and " .. #o.size ..
        " sizes, expected [N, r, r + 1] and r + 2 known sizes with r = 2 or 3")
    local shape = {theta:size(1)}
    for a = 2, r + 1 do shape[a] = 1 end
    shape[r + 2] = r
    local function column(j) return reshape(narrow(theta, 3, j, 1), shape) end
    for a = r, 1, -1 do
        local part = column(r - a) * places(r + 2, 1 + a, o.size[2 + a], o.align_corners ~= 0)
        grid = grid and grid + part or part
    end
    return grid + column(r)
end

-- Where the samples of each region lie along an axis, [regions, bins * samples]: a region begins at
-- column `from` of the regions and ends two columns later.
local function samples(rois, from, bins, each, scale, shifted)
    local n, steps = bins * each, {}
    for i = 1, n do steps[i] = (i - 0.5) / n end
    local start, finish = narrow(rois, 2, from, 1) * scale, narrow(rois, 2, from + 2, 1) * scale
    local size = finish - start
    if shifted then start = start - 0.5 else size = maximum(size, 1) end
    return start + size * const(steps, {1, n})
end

-- Returns the neighbours of samples [regions, n], along one of two axes of coordinates.
local function sample_neighbours(at, a, size)
    local n, regions = at:size(2), at:size(1)
    at = reshape(at, a == 1 and {regions, n, 1} or {regions, 1, n})
    local found = neighbours(clamp(at, 0, size - 1), a, 2, size, linear, "border", 0)
    found.valid = reshape(logical_and(ge(at, -1), le(at, size)), {regions, at:size(2), at:size(3), 1, 1})
    return found
end

-- The mean or the largest of the samples in each bin of a region; of the largest, neighbours times
-- their weights are compared.
function onnx_pictures.roi_align(x, rois, batch, config)
    local o = layer_options("onnx_pictures.roi_align", config or {}, {
        coordinate_transformation_mode = {"string", "half_pixel"}, mode = {"string", "avg"},
        output_height = {"whole", 1}, output_width = {"whole", 1}, sampling_ratio = {"whole", 0},
        spatial_scale = {"number", 1}, version = "whole?"})
    local h, w, each, mean = o.output_height, o.output_width, o.sampling_ratio, o.mode == "avg"
    local fits = x.rank == 4 and rois.rank == 2 and rois:size(2) == 4 and each >= 1 and each <= 64 and
        h >= 1 and h <= 2 ^ 12 and w >= 1 and w <= 2 ^ 12
    assert(fits, "found pictures " .. tostring(x) .. ", regions " .. tostring(rois) .. " and sampling_ratio " .. each ..
        ", expected [N, C, H, W], [n, 4] and 1 to 64")
    local scale = to_float(o.spatial_scale)
    local shifted = not o.version and o.coordinate_transformation_mode == "half_pixel"
    local found = {
        sample_neighbours(samples(rois, 1, h, each, scale, shifted), 1, x:size(3)),
        sample_neighbours(samples(rois, 0, w, each, scale, shifted), 2, x:size(4)),
    }
    local reduce = mean and sum or max
    local y = reduce(weighted_rows(x, along(batch, 5, 1), found), {4, 5}, false)
    y = reduce(reshape(y, {rois:size(1), h, each, w, each, x:size(2)}), {3, 5}, false)
    return channels_first(mean and y / (each * each) or y)
end

return onnx_pictures
