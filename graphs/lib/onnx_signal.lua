-- Fourier transforms and mel filters of ONNX; see onnx.lua.
--
-- A complex number is two floats along the last axis.  A transform of a known length is a product with a
-- known matrix, whose elements are looked up in a table of cosines and sines.

local tools = require "onnx_tools"
local axis_of, pad, number = tools.axis_of, tools.pad, tools.number

local onnx_signal = {}

local most_length, most_matrix = 2 ^ 20, 2 ^ 24

local function check_length(length, what)
    assert(type(length) == "number" and length >= 1 and length <= most_length,
        "found " .. what .. " of " .. tostring(length) .. " elements, expected 1 to " .. most_length)
    return length
end

-- Cosines of 2 pi j / n, then their sines times `sign`, then those with the other sign, by `scale`; exactly
-- 0 where they are 0.
local function turns(n, sign, scale)
    local list = {}
    local function put(place, y) list[place] = math.abs(y) < 1e-15 and 0 or y * scale end
    for j = 0, n - 1 do
        local angle = 2 * math.acos(-1) * j / n
        put(j + 1, math.cos(angle))
        put(n + j + 1, sign * math.sin(angle))
        put(2 * n + j + 1, -sign * math.sin(angle))
    end
    return const(list)
end

-- The matrix [rows a, columns b] of a transform of n elements, of a floats each, to elements of b floats:
-- exp(-2 pi i k / n); the inverse has a plus and divides by n.  A one-sided inverse counts an element for
-- its conjugate, too.
local function matrix_of(n, rows, a, columns, b, o)
    local shape = {rows * a, columns * b}
    assert(shape[1] * shape[2] <= most_matrix, "found a transform of " .. n .. " elements, expected one whose matrix has at most "
        .. most_matrix .. " elements")
    local down, across = iota(shape, 1), iota(shape, 2)
    local row, part = floor_divide(down, a), across % b - down % a
    local place = row * floor_divide(across, b) % n + int(gt(part, 0)) * n + int(lt(part, 0)) * (2 * n)
    local y = gather(turns(n, o.inverse and 1 or -1, o.inverse and 1 / n or 1), place)
    if not (o.inverse and o.onesided) then return y end
    return where(logical_or(eq(row, 0), eq(row * 2, n)), y, y * 2)
end

-- Transforms along an axis other than the last; pads with zeros or cuts to the length.
local function transform(x, axis, length, o)
    local n, half, last = check_length(length, "a transform"), math.floor(length / 2) + 1, x.rank
    local floats_in, floats_out = x:size(last), o.inverse and o.onesided and 1 or 2
    local rows, columns = o.inverse and o.onesided and half or n, o.onesided and not o.inverse and half or n
    if rows ~= x:size(axis) then x = pad(x, axis, 0, rows - x:size(axis), 0) end
    if axis ~= last - 1 then x = transpose(x, axis, last - 1) end
    local shape = x.shape
    shape[last], shape[last - 1] = nil, rows * floats_in
    local y = matmul(reshape(x, shape), matrix_of(n, rows, floats_in, columns, floats_out, o))
    shape[last - 1], shape[last] = columns, floats_out
    y = reshape(y, shape)
    return axis ~= last - 1 and transpose(y, axis, last - 1) or y
end

-- The Fourier transform along an axis; before version 20 axis 1 by default.
function onnx_signal.dft(x, config)
    local o = layer_options("onnx_signal.dft", config or {}, {
        dft_length = "number|table?", axis = "number|table?", inverse = {"whole", 0}, onesided = {"whole", 0},
        version = "whole?"})
    local axis = axis_of(x, number(o.axis or (o.version and 1 or -2)))
    assert(x.rank >= 2 and axis < x.rank and (x:size(-1) == 1 or x:size(-1) == 2),
        "found axis " .. axis - 1 .. " of " .. x.rank .. ", expected one before the last, which has 1 or 2 elements")
    local how = {inverse = o.inverse ~= 0, onesided = o.onesided ~= 0}
    local size = check_length(x:size(axis), "an axis")
    local length = how.inverse and how.onesided and 2 * (size - 1) or size
    return transform(x, axis, o.dft_length and number(o.dft_length) or length, how)
end

-- Transforms frames [N, frames, length, floats] of a signal [N, n] or [N, n, floats], multiplied by a window.
function onnx_signal.stft(x, window, config)
    local o = layer_options("onnx_signal.stft", config or {}, {
        frame_step = "number|table", frame_length = "number|table?", onesided = {"whole", 1}})
    if x.rank == 2 then x = reshape(x, {x:size(1), x:size(2), 1}) end
    local size, step = x.rank == 3 and check_length(x:size(2), "an axis") or 0, number(o.frame_step)
    local length = o.frame_length and number(o.frame_length) or window and window:size(1) or size
    assert(x.rank == 3 and x:size(3) <= 2 and not (window and window:size(1) ~= length),
        "found a signal " .. tostring(x) .. " and frames of " .. length .. " with a window " .. tostring(window) ..
            ", expected [N, n, 1 or 2] and a window as long as a frame")
    assert(length >= 1 and step >= 1 and length <= size, "found frames of " .. length .. " elements by steps of "
        .. step .. " over " .. size .. ", expected them to fit")
    local shape = {math.floor((size - length) / step) + 1, length}
    local at = iota(shape, 1) * step + iota(shape, 2)
    local frames = permute(gather(permute(x, {2, 1, 3}), at), {3, 1, 2, 4})
    if window then frames = frames * tools.along(window, 4, 3) end
    return transform(frames, 3, length, {onesided = o.onesided ~= 0})
end

-- Returns triangles over the bins of a spectrum, [length / 2 + 1, bins], of equal widths on the mel scale.
function onnx_signal.mel_weight_matrix(config)
    local o = layer_options("onnx_signal.mel_weight_matrix", config or {}, {
        bins = "number|table", length = "number|table", rate = "number|table", low = "number|table",
        high = "number|table", output_datatype = {"whole", 1}})
    local bins, length, rate = number(o.bins), number(o.length), number(o.rate)
    local low, high, rows = number(o.low), number(o.high), math.floor(length / 2) + 1
    assert(bins >= 1 and length >= 1 and rate >= 1 and bins * rows <= most_length and low >= 0 and high >= low
        and high <= rate, "found " .. bins .. " bins from " .. low .. " to " .. high ..
            " Hz, expected frequencies up to " .. rate .. ", and fewer bins")
    local from, list = math.log(1 + low / 700), {}
    local step = (math.log(1 + high / 700) - from) / (bins + 2)
    local function bin(i) return math.floor((length + 1) * 700 * (math.exp(from + i * step) - 1) / rate) end
    for i = 1, bins * rows do list[i] = 0 end
    for i = 0, bins - 1 do
        local first, top, last = bin(i), bin(i + 1), bin(i + 2)
        for j = first, math.min(top, rows - 1) do
            list[j * bins + i + 1] = top == first and 1 or (j - first) / (top - first)
        end
        for j = top, math.min(last, rows) - 1 do list[j * bins + i + 1] = (last - j) / (last - top) end
    end
    return const(list, {rows, bins})
end

return onnx_signal
