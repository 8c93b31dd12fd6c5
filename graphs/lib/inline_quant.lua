-- Operators of ONNX on quantised numbers, which the language keeps in floats and i32; see inline_tools.lua.
--
-- A quantised number q stands for (q - zero) * scale.

local tools = require "inline_tools"
local axis_of = tools.axis_of

local inline_quant = {}

local limits = {uint8 = {0, 255}, int8 = {-128, 127}, uint16 = {0, 65535}, int16 = {-32768, 32767}}

-- Returns y rounded to a whole number of a type, by the type's name or a tensor of it.
local function saturate(y, zero, like)
    local range = limits[like.type]
    if not range then error("found a zero point of type " .. like.type .. ", expected 8 or 16 bits") end
    y = round(y)
    if zero then y = y + float(zero) end
    return typed(int(minimum(maximum(y, range[1]), range[2])), like)
end

-- Returns a scale or a zero point as a tensor that broadcasts with x: one number, one for each index of an
-- axis, or one for each block of so many elements along it.  One number needs no axis: that of a bias, which
-- has one axis, is by default the second one.
local function spread(x, by, o)
    if not by or by.rank == 0 then return by end
    local block, shape = o.block_size or 0, {}
    if block == 0 and by.rank == 1 and by.elements == 1 then return reshape(by, {}) end
    local axis = axis_of(x, o.axis or 1)
    if block == 0 then
        for i = 1, x.rank do shape[i] = i == axis and by:size(1) or 1 end
        if by.rank ~= 1 then error("found scales of " .. by.rank .. " axes, expected at most one") end
        return reshape(by, shape)
    end
    local wide, merged = {}, by.shape
    for i = 1, by.rank do
        shape[#shape + 1], wide[#wide + 1] = by:size(i), by:size(i)
        if i == axis then shape[#shape + 1], wide[#wide + 1] = 1, block end
    end
    merged[axis] = merged[axis] * block
    return narrow(reshape(expand(reshape(by, shape), wide), merged), axis, 0, x:size(axis))
end

function inline_quant.quantize(x, scale, zero, o)
    local like = zero or full(0, {}, o.output_dtype or 2)
    local zeros = zero and spread(x, zero, o)
    return saturate(float(x) / spread(x, scale, o), zeros, like)
end

function inline_quant.dequantize(x, scale, zero, o)
    local y = float(x)
    if zero then y = y - float(spread(x, zero, o)) end
    return y * spread(x, scale, o)
end

-- Maps the range of x, extended to contain 0, to 0 .. 255.
function inline_quant.dynamic_quantize(x)
    local axes = tools.axes_from(x, 1)
    local low, high = minimum(-max(-x, axes, false), 0), maximum(max(x, axes, false), 0)
    local range = high - low
    local scale = where(eq(range, 0), full(1, {}, "f32"), range / 255)
    local zero = saturate(-low / scale, nil, full(0, {}, 2))
    return saturate(x / scale, zero, zero), scale, zero
end

-- Multiplies matrices of integers of at most 16 bits, minus their zero points, to i32.  Numbers of 8 bits are
-- multiplied as floats, in parts of 256 terms, whose sums are exact.
local function product(a, b, zero_a, zero_b)
    local x, y, total = float(a), float(b), nil
    if zero_a and zero_a.rank == 1 and zero_a.elements ~= 1 then zero_a = reshape(zero_a, {zero_a:size(1), 1}) end
    if zero_a then x = x - float(zero_a) end
    if zero_b then y = y - float(zero_b) end
    local size, rows = plain(a:size(-1)), math.max(b.rank - 1, 1)
    for k = 0, size - 1, 256 do
        local n = math.min(256, size - k)
        local part = cast(matmul(narrow(x, -1, k, n), narrow(y, rows, k, n)), 6)
        total = total and total + part or part
    end
    return total
end

inline_quant.matmul_integer = product

function inline_quant.matmul(a, scale_a, zero_a, b, scale_b, zero_b, scale, zero)
    local y = product(a, b, zero_a, zero_b)
    return saturate(float(y) * (scale_a * scale_b / scale), zero, zero)
end

return inline_quant
