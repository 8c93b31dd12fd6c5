-- Convolutions and pools of ONNX; see onnx.lua.

local tools = require "onnx_tools"
local to_front, take, along, pad = tools.to_front, tools.take, tools.along, tools.pad

local onnx_conv = {}

-- ---- windows that move over a picture ----
--
-- A window is a list of axes of space, each of which has `size`, `kernel`, `stride` and `dilation`;
-- `before` and `after`, its padding; `out`, the number of places that the window takes; `reach`,
-- how many elements it spans; and `over`, of ceil_mode: what the last place has beyond the padding.

local MOST_PLACES = 1024

-- Returns an attribute's n numbers, one for each axis; repeats a single number; `otherwise` is the default.
local function list_of(list, n, otherwise, name)
    if list and #list > 0 then
        assert(#list == n, "found " .. #list .. " " .. name .. ", expected " .. n)
        return list
    end
    list = {}
    for i = 1, n do list[i] = otherwise end
    return list
end

-- Sets the padding for the attribute auto_pad: none, or such that the result has ceil(size / stride) elements.
local function auto_pad(a, mode)
    local out = math.ceil(a.size / a.stride)
    local more = mode == "VALID" and 0 or math.max(0, (out - 1) * a.stride + a.reach - a.size)
    a.before = mode == "SAME_LOWER" and math.ceil(more / 2) or math.floor(more / 2)
    a.after = more - a.before
end

-- Returns the number of positions; with ceil_mode the last window may end in the padding, but not begin there.
local function find_places(a, ceil)
    local room = a.size + a.before + a.after - a.reach
    assert(room >= 0 and a.kernel >= 1 and a.stride >= 1 and a.dilation >= 1,
        "found a window of " .. a.reach .. " elements on an axis of " .. a.size .. ", expected it to fit")
    a.out = (ceil and math.ceil or math.floor)(room / a.stride) + 1
    if ceil and (a.out - 1) * a.stride >= a.size + a.before then a.out = a.out - 1 end
    a.over = math.max(0, (a.out - 1) * a.stride + a.reach - (a.size + a.before + a.after))
end

local function check_places(w)
    local places = 1
    for _, a in ipairs(w) do places = places * a.kernel end
    assert(places <= MOST_PLACES, "found " .. places .. " elements in a kernel, expected at most " .. MOST_PLACES)
    return places
end

-- Returns the window of a kernel over the axes of x from the third on, with its number of positions.
local function read_window(x, o, kernel)
    local n, w = x.rank - 2, {}
    assert(n >= 1 and n <= 3, "found a tensor of " .. x.rank .. " axes, expected 3 to 5")
    kernel = list_of(kernel, n, 1, "kernel_shape")
    local strides, dilations = list_of(o.strides, n, 1, "strides"), list_of(o.dilations, n, 1, "dilations")
    local pads = list_of(o.pads, 2 * n, 0, "pads")
    for i = 1, n do
        local a = {size = x:size(2 + i), kernel = kernel[i], stride = strides[i], dilation = dilations[i],
            before = pads[i], after = pads[n + i]}
        a.reach = (a.kernel - 1) * a.dilation + 1
        if o.auto_pad ~= "NOTSET" then auto_pad(a, o.auto_pad) end
        find_places(a, o.ceil_mode ~= nil and o.ceil_mode ~= 0)
        w[i] = a
    end
    return w, check_places(w)
end

local function pad_all(x, w, value)
    for i, a in ipairs(w) do x = pad(x, 2 + i, a.before, a.after + a.over, value) end
    return x
end

-- Returns the index along an axis of each element of the window at each position, [out, kernel].
local function window_index(a)
    local shape = {a.out, a.kernel}
    return iota(shape, 1) * a.stride + iota(shape, 2) * a.dilation
end

-- Splits each axis of space into two, the window's position and the element in it: [N, C, out, k, out, k, ..]. If
-- windows do not overlap or leave gaps, slices and reshapes are enough.
local function windows(x, w)
    for i, a in ipairs(w) do
        local axis, shape = 1 + 2 * i, x.shape
        if a.dilation == 1 and (a.stride == a.kernel or a.out == 1) then
            if shape[axis] ~= a.out * a.kernel then x = narrow(x, axis, 0, a.out * a.kernel) end
            shape[axis] = a.out
            table.insert(shape, axis + 1, a.kernel)
            x = reshape(x, shape)
        else
            local front, order = to_front(x.rank, axis), {}
            for k = 1, axis - 1 do order[k] = 2 + k end
            order[axis], order[axis + 1] = 1, 2
            for k = axis + 2, x.rank + 1 do order[k] = k end
            x = permute(gather(permute(x, front), window_index(a)), order)
        end
    end
    return x
end

-- Returns the axes of the result of windows() that are elements of a window.
local function element_axes(w)
    local axes = {}
    for i = 1, #w do axes[i] = 2 + 2 * i end
    return axes
end

-- ---- pools ----

local pool_options = {
    auto_pad = {"string", "NOTSET"}, ceil_mode = {"whole", 0}, dilations = "table?", kernel_shape = "table?",
    pads = "table?", strides = "table?",
}

local max_pool_options = {storage_order = {"whole", 0}}

-- Windows whose padding is smaller than any element.
local function max_windows(x, w)
    return windows(pad_all(x, w, x.dtype == "i32" and -128 or -math.huge), w)
end

-- Returns the largest element of each window.
function onnx_conv.max_pool(x, config)
    local o = layer_options("onnx_conv.max_pool", config or {}, pool_options, max_pool_options)
    local w = read_window(x, o, o.kernel_shape)
    return max(max_windows(x, w), element_axes(w), false)
end

local MOST_INDEX = 2 ^ 28 -- so that sums of a few stay in an i32

-- Minus the index along an axis of each element of a place, times the elements that one step skips;
-- far below where there is only padding.  As windows() has axes.
local function minus_index(w, i, step)
    local a, shape = w[i], {}
    local at = window_index(a) - a.before
    at = where(logical_and(ge(at, 0), lt(at, a.size)), at * -step, -MOST_INDEX)
    for k = 1, 2 + 2 * #w do shape[k] = 1 end
    shape[1 + 2 * i], shape[2 + 2 * i] = a.out, a.kernel
    return reshape(at, shape)
end

-- Converts an index over axes of space from row-major to column-major order.
local function column_major(index, w)
    local total, step, rest = 0, 1, 1
    for _, a in ipairs(w) do rest = rest * a.size end
    for _, a in ipairs(w) do
        rest = rest / a.size
        total = floor_divide(index, rest) % a.size * step + total
        step = step * a.size
    end
    return total
end

-- Returns the index in x of each window's largest element, of several the first: among the largest elements, the
-- maximum of the negated index.  NaN counts as largest.
function onnx_conv.max_pool_index(x, config)
    local o = layer_options("onnx_conv.max_pool", config or {}, pool_options, max_pool_options)
    local w = read_window(x, o, o.kernel_shape)
    local elements, axes, at, step = max_windows(x, w), element_axes(w), nil, 1
    local hit = eq(elements, max(elements, axes))
    if x.dtype == "f32" then hit = logical_or(hit, ne(elements, elements)) end
    for i = #w, 1, -1 do
        local part = minus_index(w, i, step)
        at = at and at + part or where(hit, part, -4 * MOST_INDEX)
        step = step * w[i].size
    end
    assert(step <= MOST_INDEX, "found indices into " .. step .. " elements, expected at most " .. MOST_INDEX)
    at = -max(at, axes, false)
    if o.storage_order ~= 0 then at = column_major(at, w) end
    local shape = {x:size(1), x:size(2)}
    for i = 1, #w do shape[2 + i] = 1 end
    return at + reshape(iota({shape[1] * shape[2]}, 1), shape) * step
end

-- Returns the number of elements in each window, with or without padding.
local function counts(w, padding)
    local total = 1
    for i, a in ipairs(w) do
        local list, same = {}, true
        local from, to = padding and 0 or a.before, a.before + a.size + (padding and a.after or 0)
        for k = 1, a.out do
            local n = 0
            for j = 0, a.kernel - 1 do
                local at = (k - 1) * a.stride + j * a.dilation
                if at >= from and at < to then n = n + 1 end
            end
            list[k], same = n, same and n == (list[1] or n)
        end
        total = (same and list[1] or along(const(list), 2 + #w, 2 + i)) * total
    end
    return total
end

local average_pool_options = {count_include_pad = {"whole", 0}}

local function average(x, o)
    local w = read_window(x, o, o.kernel_shape)
    local total = sum(windows(pad_all(x, w, 0), w), element_axes(w), false)
    return total / counts(w, o.count_include_pad ~= 0)
end

-- Returns the mean of each window.
function onnx_conv.average_pool(x, config)
    return average(x, layer_options("onnx_conv.average_pool", config or {}, pool_options, average_pool_options))
end

-- Returns y as quantised numbers of a type.
local function quantise(y, scale, zero, type)
    local low = tools.choose("type", {uint8 = 0, int8 = -128}, type)
    y = round(scale and y / scale or y)
    return int(tools.clamp(zero and y + float(zero) or y, low, low + 255))
end

-- Returns the mean of each window of a quantised tensor [N, C, d..], quantised again.
function onnx_conv.average_pool_quantised(x, scale_x, zero_x, scale, zero, config)
    local o = layer_options("onnx_conv.average_pool_quantised", config or {}, pool_options, average_pool_options, {
        channels_last = {"whole", 0}, type = {"string", "uint8"}})
    assert(o.channels_last == 0, "found channels_last 1, expected 0")
    x = zero_x and float(x) - float(zero_x) or float(x)
    return quantise(average(x * scale_x, o), scale, zero, o.type)
end

-- Returns the axes after batch and channels.
local function space(x)
    local axes = {}
    for i = 3, x.rank do axes[#axes + 1] = i end
    return axes
end

-- Returns the mean of each channel over all axes of space.
function onnx_conv.global_average_pool(x)
    return tools.mean(x, space(x))
end

-- Returns the largest element of each channel.
function onnx_conv.global_max_pool(x)
    return max(x, space(x))
end

-- (sum of |x|^p)^(1 / p)
function onnx_conv.lp_pool(x, config)
    local o = layer_options("onnx_conv.lp_pool", config or {}, pool_options, {p = {"whole", 2}})
    local w = read_window(x, o, o.kernel_shape)
    local total = sum(windows(pad_all(abs(x) ^ o.p, w, 0), w), element_axes(w), false)
    return o.p == 2 and sqrt(total) or total ^ (1 / o.p)
end

-- Writes elements to the positions in `index`; other elements, also of a larger output, are zeros.
function onnx_conv.max_unpool(x, index, config)
    local o = layer_options("onnx_conv.max_unpool", config or {}, {
        kernel_shape = "table?", output_shape = "table?", pads = "table?", strides = "table?"})
    local n, shape, total = x.rank - 2, x.shape, 1
    assert(n >= 1, "found a tensor of " .. x.rank .. " axes, expected [N, C, ..]")
    local kernel = list_of(o.kernel_shape, n, 1, "kernel_shape")
    local strides = list_of(o.strides, n, 1, "strides")
    local pads = list_of(o.pads, 2 * n, 0, "pads")
    for i = 1, n do
        local size = (x:size(2 + i) - 1) * strides[i] + kernel[i] - pads[i] - pads[n + i]
        assert(strides[i] >= 1 and size >= 1 and size <= MOST_INDEX,
            "found axis " .. (1 + i) .. " of " .. x:size(2 + i) .. " elements by steps of " .. strides[i] ..
            ", expected a result of 1 to " .. MOST_INDEX)
        shape[2 + i] = size
    end
    local fits = index.rank == x.rank and (not o.output_shape or #o.output_shape == x.rank)
    for i, size in ipairs(shape) do
        total, fits = total * size, fits and index:size(i) == x:size(i)
    end
    assert(fits, "found indices or sizes of another rank, expected an index for each element and a size for each axis")
    local y = scatter(const(0, {total}, x.dtype), reshape(x, {-1}), reshape(index, {-1}), 1)
    y = reshape(y, shape)
    for i, size in ipairs(o.output_shape or {}) do
        assert(size >= shape[i] and size <= MOST_INDEX, "found a size of " .. size .. " for axis " .. (i - 1) .. ", expected " .. shape[i] .. " to " .. MOST_INDEX)
        y = pad(y, i, 0, size - shape[i], 0)
    end
    return y
end

-- ---- convolutions ----

-- Returns the elements of each window as columns, [N, C, K, L]: K elements of the kernel, L positions.
local function columns(x, w, K)
    local order, L = {1, 2}, 1
    for i, a in ipairs(w) do
        order[2 + i], order[2 + #w + i] = 2 + 2 * i, 1 + 2 * i
        L = L * a.out
    end
    return reshape(permute(windows(pad_all(x, w, 0), w), order), {x:size(1), x:size(2), K, L}), L
end

-- Multiplies weights [M, C / groups, k..] by the columns of each group, and adds the bias: [N, M, out..].
local function convolve(x, weights, bias, groups, w, K)
    local N, C, M = x:size(1), x:size(2), weights:size(1)
    assert(groups >= 1 and C % groups == 0 and M % groups == 0 and weights:size(2) == C / groups,
        "found " .. groups .. " groups for " .. C .. " channels and weights [" .. M .. ", " .. weights:size(2) ..
        ", ..], expected [M, C / groups, ..] and groups that divide C and M")
    local cols, L = columns(x, w, K)
    local y
    if groups == 1 then
        y = matmul(reshape(weights, {M, C * K}), reshape(cols, {N, C * K, L}))
    else
        y = matmul(reshape(weights, {groups, M / groups, C / groups * K}),
            reshape(cols, {N, groups, C / groups * K, L}))
    end
    local shape = {N, M}
    for i, a in ipairs(w) do shape[2 + i] = a.out end
    y = reshape(y, shape)
    return bias and y + along(bias, x.rank, 2) or y
end

-- Returns the sizes of a kernel [.., .., k..].
local function kernel_of(x, weights)
    local kernel = weights.shape
    assert(weights.rank == x.rank, "found weights of " .. weights.rank .. " axes, expected " .. x.rank)
    table.remove(kernel, 1)
    table.remove(kernel, 1)
    return kernel
end

local conv_options = {
    auto_pad = {"string", "NOTSET"}, dilations = "table?", group = {"whole", 1}, pads = "table?", strides = "table?",
}

-- Convolves x [N, C, d..] with weights [M, C / group, k..].
function onnx_conv.conv(x, weights, bias, config)
    local o = layer_options("onnx_conv.conv", config or {}, conv_options)
    local w, K = read_window(x, o, kernel_of(x, weights))
    return convolve(x, weights, bias, o.group, w, K)
end

-- Functions of a number and of the parameters of FusedConv.
local activations = {
    none = function(y) return y end,
    Clip = function(y, p) return tools.clamp(y, p[1], p[2]) end,
    HardSigmoid = function(y, p) return tools.clamp(y * p[1] + p[2], 0, 1) end,
    LeakyRelu = function(y, p) return where(ge(y, 0), y, y * p[1]) end,
    Relu = function(y) return maximum(y, 0) end,
    Sigmoid = function(y) return sigmoid(y) end,
    Tanh = function(y) return tanh(y) end,
}

-- Convolves, adds z, and applies a function.
function onnx_conv.fused_conv(x, weights, bias, z, config)
    local o = layer_options("onnx_conv.fused_conv", config or {}, conv_options, {
        activation = {"string", "none"}, activation_params = "table?"})
    local w, K = read_window(x, o, kernel_of(x, weights))
    local y = convolve(x, weights, bias, o.group, w, K)
    return tools.choose("activation", activations, o.activation)(z and y + z or y, o.activation_params)
end

-- Convolves integers of 8 bits, minus their zero points, to i32.  They are multiplied as floats, in parts of so few
-- channels that the sums are exact.
local function convolve_whole(x, weights, zero_x, zero_w, o)
    local w, K = read_window(x, o, kernel_of(x, weights))
    local G, C, total = o.group, weights:size(2), nil
    assert(G >= 1 and x:size(2) == G * C, "found " .. x:size(2) .. " channels, " .. G .. " groups and weights of " .. C ..
        " channels, expected as many channels in the weights as in a group")
    assert(K <= 256, "found " .. K .. " elements in a kernel of integers, expected at most 256")
    x, weights = float(x), float(weights)
    if zero_x then x = x - float(zero_x) end
    if zero_w then weights = weights - along(float(zero_w), x.rank, 1) end
    local most, apart = math.floor(256 / K), x.shape
    apart[2] = C
    table.insert(apart, 2, G)
    for c = 0, C - 1, most do
        local n, shape = math.min(most, C - c), x.shape
        shape[2] = G * n
        local part = reshape(narrow(reshape(x, apart), 3, c, n), shape)
        local y = int(convolve(part, narrow(weights, 2, c, n), nil, G, w, K))
        total = total and total + y or y
    end
    return total
end

-- A convolution of whole numbers less their zero points, as i32.
function onnx_conv.conv_integer(x, weights, zero_x, zero_w, config)
    local o = layer_options("onnx_conv.conv_integer", config or {}, conv_options)
    return convolve_whole(x, weights, zero_x, zero_w, o)
end

-- Convolves quantised numbers q, which stand for (q - zero) * scale.  Weights may have a scale and a zero point for
-- each channel of the result.
function onnx_conv.conv_quantised(x, scale_x, zero_x, weights, scale_w, zero_w, scale, zero, bias, config)
    local o = layer_options("onnx_conv.conv_quantised", config or {}, conv_options, {type = {"string", "uint8"}})
    local y = convolve_whole(x, weights, zero_x, zero_w, o)
    if bias then y = y + along(bias, x.rank, 2) end
    return quantise(float(y) * (scale_x * along(scale_w, x.rank, 2) / scale), nil, zero, o.type)
end

-- Inserts stride - 1 zeros between the elements of an axis.
local function spread(x, axis, stride)
    if stride == 1 then return x end
    local wide, shape, size = x.shape, x.shape, x:size(axis)
    table.insert(wide, axis + 1, 1)
    shape[axis] = size * stride
    local y = reshape(pad(reshape(x, wide), axis + 1, 0, stride - 1, 0), shape)
    return narrow(y, axis, 0, (size - 1) * stride + 1)
end

-- Rearranges weights [C, M / groups, k..] to [M, C / groups, k..], with the kernel mirrored.
local function turned(weights, groups)
    local C, M = weights:size(1), weights:size(2)
    assert(groups >= 1 and C % groups == 0,
        "found " .. groups .. " groups of " .. C .. " channels, expected a number that divides the channels")
    for axis = 3, weights.rank do
        local list = {}
        for i = weights:size(axis) - 1, 0, -1 do list[#list + 1] = i end
        weights = take(weights, axis, list)
    end
    local shape = weights.shape
    shape[1] = C / groups
    table.insert(shape, 1, groups)
    local y = transpose(reshape(weights, shape), 2, 3)
    table.remove(shape, 1)
    shape[1], shape[2] = groups * M, C / groups
    return reshape(y, shape)
end

-- A transposed convolution: a convolution of the spread tensor with the mirrored kernel.
function onnx_conv.conv_transpose(x, weights, bias, config)
    local o = layer_options("onnx_conv.conv_transpose", config or {}, {
        auto_pad = {"string", "NOTSET"}, dilations = "table?", group = {"whole", 1}, output_padding = "table?",
        output_shape = "table?", pads = "table?", strides = "table?"})
    local n, w, kernel = x.rank - 2, {}, kernel_of(x, weights)
    assert(n >= 1 and n <= 3, "found a tensor of " .. x.rank .. " axes, expected 3 to 5")
    local strides, dilations = list_of(o.strides, n, 1, "strides"), list_of(o.dilations, n, 1, "dilations")
    local pads, more = list_of(o.pads, 2 * n, 0, "pads"), list_of(o.output_padding, n, 0, "output_padding")
    local asked = o.output_shape and #o.output_shape > 0 and o.output_shape
    for i = 1, n do
        local a = {kernel = kernel[i], stride = 1, dilation = dilations[i]}
        a.reach = (a.kernel - 1) * a.dilation + 1
        local full = (x:size(2 + i) - 1) * strides[i] + more[i] + a.reach
        local first, out = pads[i], full - pads[i] - pads[n + i]
        if asked or o.auto_pad:sub(1, 4) == "SAME" then
            out = asked and asked[#asked - n + i] or x:size(2 + i) * strides[i]
            local total = math.max(0, full - out)
            first = o.auto_pad == "SAME_UPPER" and math.floor(total / 2) or total - math.floor(total / 2)
        end
        x = spread(x, 2 + i, strides[i])
        a.size, a.before = x:size(2 + i), a.reach - 1 - first
        a.after = out + a.reach - 1 - a.size - a.before
        find_places(a, false)
        w[i] = a
    end
    return convolve(x, turned(weights, o.group), bias, o.group, w, check_places(w))
end

-- Puts the past, or zeros, before x.
local function with_past(x, weights, past)
    assert(x.rank == 3 and weights.rank == 3, "found x of " .. x.rank .. " axes and weights of " .. weights.rank ..
        ", expected x [N, C, T] and weights [C, 1, k]")
    return past and concat({past, x}, 3) or pad(x, 3, weights:size(3) - 1, 0, 0)
end

-- Convolves each channel with a kernel over the current and past elements.
function onnx_conv.causal_conv(x, weights, bias, past, config)
    local o = layer_options("onnx_conv.causal_conv", config or {}, {activation = {"string", "none"}})
    local all = with_past(x, weights, past)
    local w, K = read_window(all, {auto_pad = "NOTSET"}, {weights:size(3)})
    local y = convolve(all, weights, bias, x:size(2), w, K)
    return o.activation == "none" and y or y * sigmoid(y)
end

-- Returns the elements that are the past of the next call.
function onnx_conv.causal_conv_state(x, weights, _, past)
    local all, k = with_past(x, weights, past), weights:size(3)
    if k == 1 then return const(0, {x:size(1), x:size(2), 0}, x.dtype) end
    return narrow(all, 3, all:size(3) - (k - 1), k - 1)
end

-- Adds up the windows in columns where they overlap: [N, C K, L] to [N, C, image..].
function onnx_conv.col2im(x, config)
    local o = layer_options("onnx_conv.col2im", config or {}, {
        block_shape = "table", dilations = "table?", image_shape = "table", pads = "table?", strides = "table?"})
    local n, w, shape, total = #o.image_shape, {}, {}, nil
    assert(x.rank == 3 and n >= 1 and n == #o.block_shape and n <= 5,
        "found columns of " .. x.rank .. " axes, an image of " .. n .. " and blocks of " .. #o.block_shape ..
            ", expected columns [N, C, L], and as many axes of a block as of the image, 1 to 5")
    local strides, dilations = list_of(o.strides, n, 1, "strides"), list_of(o.dilations, n, 1, "dilations")
    local pads = list_of(o.pads, 2 * n, 0, "pads")
    for i = 1, n do
        local a = {size = o.image_shape[i], kernel = o.block_shape[i], stride = strides[i], dilation = dilations[i],
            before = pads[i], after = pads[n + i]}
        a.reach = (a.kernel - 1) * a.dilation + 1
        find_places(a, false)
        w[i], shape[2 + i] = a, a.out
    end
    local places = check_places(w)
    shape[1], shape[2] = x:size(1), x:size(2) / places
    local each = reshape(x, {shape[1], shape[2], places, x:size(3)})
    for p = 0, places - 1 do
        local part, rest = reshape(narrow(each, 3, p, 1), shape), p
        for i = n, 1, -1 do
            local a = w[i]
            local at = rest % a.kernel * a.dilation - a.before
            rest = math.floor(rest / a.kernel)
            part = spread(part, 2 + i, a.stride)
            part = pad(part, 2 + i, at, a.size - at - part:size(2 + i), 0)
        end
        total = total and total + part or part
    end
    return total
end

return onnx_conv
