-- Operators of ONNX on quantised numbers, which the language keeps in floats and i32; see inline_tools.lua.
--
-- A quantised number q stands for (q - zero) * scale.

local inline_norm = require "inline_norm"
local tools = require "inline_tools"
local axis_of = tools.axis_of

local inline_quant = {}

local limits = {uint8 = {0, 255}, int8 = {-128, 127}, uint16 = {0, 65535}, int16 = {-32768, 32767}}

-- Returns y cut to the range of a type, by a tensor of it, less a zero point.
local function cut(y, like, zero)
    local range = limits[like.type]
    if not range then error("found a zero point of type " .. like.type .. ", expected 8 or 16 bits") end
    if zero then return minimum(maximum(y, range[1] - float(zero)), range[2] - float(zero)) end
    return minimum(maximum(y, range[1]), range[2])
end

-- Returns y rounded to a whole number, plus a zero point, as a number of a type.
local function saturate(y, zero, like)
    y = round(y)
    return typed(int(cut(zero and y + float(zero) or y, like)), like)
end

-- Returns the floats of quantised numbers less a zero point, which may be nil.
local function less_zero(x, zero)
    return zero and float(x) - float(zero) or float(x)
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

-- Returns a vector with a number for each row of a matrix as a column; anything else as it is.
local function by_row(x)
    return x and x.rank == 1 and x.elements ~= 1 and reshape(x, {x:size(1), 1}) or x
end

-- Multiplies matrices of integers of at most 16 bits, minus their zero points, to i32.  Numbers of 8 bits are
-- multiplied as floats, in parts of 256 terms, whose sums are exact.
local function product(a, b, zero_a, zero_b)
    local x, y, total = a, b, nil
    x, y = less_zero(x, by_row(zero_a)), less_zero(y, zero_b)
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
    return saturate(float(y) * (by_row(scale_a) * scale_b / scale), zero, zero)
end

-- ---- operators of ONNX Runtime ----

function inline_quant.matmul_to_float(a, b, scale_a, scale_b, zero_a, zero_b, bias)
    local y = float(product(a, b, zero_a, zero_b)) * (by_row(scale_a) * scale_b)
    return bias and y + bias or y
end

-- The left operand, of floats, is quantised.
function inline_quant.dynamic_matmul(x, b, scale_b, zero_b, bias)
    local a, scale, zero = inline_quant.dynamic_quantize(x)
    return inline_quant.matmul_to_float(a, b, scale, scale_b, zero, zero_b, bias)
end

-- alpha A B + C; quantised if there is a scale for that.
function inline_quant.gemm(a, scale_a, zero_a, b, scale_b, zero_b, c, scale, zero, o)
    if (o.transA or 0) ~= 0 then a = transpose(a, 1, 2) end
    if (o.transB or 0) ~= 0 then b = transpose(b, 1, 2) end
    local y, by = product(a, b, zero_a, zero_b), scale_a * scale_b
    if c then y = y + c end
    if (o.alpha or 1) ~= 1 then by = by * o.alpha end
    if not scale then return float(y) * by end
    return saturate(float(y) * (by / scale), zero, zero or a)
end

-- The sum and the product of two quantised tensors add the zero point before they round.
function inline_quant.add(a, scale_a, zero_a, b, scale_b, zero_b, scale, zero)
    local by_a, by_b, fixed = scale_a / scale, scale_b / scale, nil
    local zeros = (zero_a and float(zero_a) * by_a or 0) + (zero_b and float(zero_b) * by_b or full(0, {}, "f32"))
    fixed = zero and float(zero) - zeros or -zeros
    return saturate(float(a) * by_a + (float(b) * by_b + fixed), nil, zero or a)
end

function inline_quant.multiply(a, scale_a, zero_a, b, scale_b, zero_b, scale, zero)
    local y = cut(less_zero(a, zero_a) * less_zero(b, zero_b) * (scale_a * scale_b / scale), zero or a, zero)
    return saturate(zero and y + float(zero) or y, nil, zero or a)
end

-- Makes an operator that is a function of floats.
local function of_floats(f)
    return function(x, scale_x, zero_x, scale, zero, o)
        return saturate(f(less_zero(x, zero_x) * scale_x, o) / scale, zero, zero or x)
    end
end

local function same(x) return x end

inline_quant.sigmoid = of_floats(sigmoid)
inline_quant.leaky_relu = of_floats(function(x, o) return where(ge(x, 0), x, x * (o.alpha or 0.01)) end)
local requantise = of_floats(same)

-- The option `opset` is the version of ONNX whose Softmax is meant.
inline_quant.softmax = of_floats(function(x, o)
    return inline_norm.softmax(x, {axis = o.axis, version = (o.opset or 13) < 13 and o.opset or nil})
end)

-- Inputs are the scale and the zero point of the result, then each part, its scale and its zero point.
function inline_quant.concat(list, o)
    local parts = {}
    for i = 3, #list - 2, 3 do parts[#parts + 1] = requantise(list[i], list[i + 1], list[i + 2], list[1], list[2]) end
    return concat(parts, axis_of(parts[1], o.axis))
end

function inline_quant.where(condition, x, scale_x, zero_x, y, scale_y, zero_y, scale, zero)
    return where(condition, requantise(x, scale_x, zero_x, scale, zero), requantise(y, scale_y, zero_y, scale, zero))
end

-- The mean of each channel, the second axis or the last one.
function inline_quant.global_average_pool(x, scale_x, zero_x, scale, zero, o)
    local is_last, axes, n = (o.channels_last or 0) ~= 0, {}, 1
    for axis = is_last and 2 or 3, is_last and x.rank - 1 or x.rank do
        axes[#axes + 1], n = axis, n * plain(x:size(axis))
    end
    return saturate(sum(less_zero(x, zero_x), axes, true) * (scale_x / (scale * n)), zero, zero or x)
end

return inline_quant
