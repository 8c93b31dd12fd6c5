-- Operators of ONNX that work element by element, sums and products; see inline_tools.lua.

local tools = require "inline_tools"
local axis_of, nn = tools.axis_of, tools.nn

local inline_math = {}

-- ---- activations ----

function inline_math.relu(x)
    if x.is_data or x.dtype == "i32" then return maximum(x, 0) end
    return nn.relu(x)
end

function inline_math.swish(x, o)
    if (o.alpha or 1) == 1 then return nn.silu(x) end
    return x * sigmoid(x * o.alpha)
end

function inline_math.quick_gelu(x, o)
    return inline_math.swish(x, {alpha = o.alpha or 1.702})
end

function inline_math.gelu(x, o)
    if o.approximate == "tanh" then return nn.gelu_tanh(x) end
    return nn.gelu(x)
end

function inline_math.fast_gelu(x, bias)
    if bias then x = x + bias end
    return nn.gelu_tanh(x)
end

-- Returns the sign of x; for 0 and NaN, x itself.
function inline_math.sign(x)
    return where(gt(x, 0), full(1, {}, x), where(lt(x, 0), full(-1, {}, x), x))
end

-- ---- two operands ----

-- Divides integers with rounding towards 0: takes the quotient rounded down, and adds 1 if it is negative and the
-- remainder is not 0.
function inline_math.div(a, b)
    if a.dtype ~= "i32" or b.dtype ~= "i32" then return a / b end
    local down = floor_divide(a, b)
    if a.is_natural and b.is_natural then return down end
    local left, below = ne(a % b, 0), ne(lt(a, 0), lt(b, 0))
    return where(logical_and(left, below), down + 1, down)
end

-- Returns the remainder: with the sign of a if o.fmod is set, else with that of b.
function inline_math.mod(a, b, o)
    if (o.fmod or 0) == 0 then return a % b end
    local left = abs(a) % abs(b)
    return where(lt(a, 0), -left, left)
end

-- Computes powers in floats.  A power of integers is rounded if it is within the error of the computation of a
-- whole number; otherwise its fraction is cut off.
function inline_math.pow(a, b)
    local y = float(a) ^ float(b)
    if a.dtype ~= "i32" then return cast(y, a) end
    local whole = round(y)
    return cast(b.dtype == "i32" and whole or where(le(abs(y - whole), abs(y) * 2 ^ -22), whole, y), a)
end

-- Limits x; the limits are attributes before version 11, and inputs since then.
function inline_math.clip(x, low, high, o)
    if low or o.min then x = maximum(x, low or o.min) end
    if high or o.max then x = minimum(x, high or o.max) end
    return x
end

-- ---- types ----

function inline_math.cast(x, o)
    return cast(x, o.to or 1)
end

function inline_math.cast_like(x, like)
    return cast(x, like)
end

-- ---- reductions ----

-- Returns the axes of a reduction, and whether they keep size 1.
local function read_reduction(x, o)
    local axes = {}
    for i, axis in ipairs(tools.list(o.axes) or {}) do axes[i] = axis_of(x, axis) end
    if #axes == 0 and (o.noop_with_empty_axes or 0) == 0 then axes = tools.axes_from(x, 1) end
    return axes, o.keepdims ~= 0
end

-- Returns the result of a reduction over no elements: a tensor filled with `number`, its identity.
local function of_empty(x, axes, keep, number)
    local gone, shape = {}, {}
    for _, axis in ipairs(axes) do gone[axis] = true end
    for axis, size in ipairs(x.shape) do
        if keep or not gone[axis] then shape[#shape + 1] = gone[axis] and 1 or size end
    end
    return full(number, shape, x)
end

local function total(x, o)
    local axes, keep = read_reduction(x, o)
    if bound(x.elements) == 0 then return of_empty(x, axes, keep, 0) end
    return sum(x, axes, keep)
end

function inline_math.reduce_sum(x, o) return total(x, o) end
function inline_math.reduce_l1(x, o) return total(abs(x), o) end
function inline_math.reduce_l2(x, o) return sqrt(total(x * x, o)) end
function inline_math.reduce_sum_square(x, o) return total(x * x, o) end
function inline_math.reduce_log_sum(x, o) return log(total(x, o)) end

-- The norm of each channel, whose space becomes one place.
function inline_math.global_lp_pool(x, o)
    local p = o.p or 2
    return sum(abs(x) ^ p, tools.axes_from(x, 3), true) ^ (1 / p)
end

-- Returns the mean over axes; the mean of no elements is NaN, as 0 / 0.
function inline_math.reduce_mean(x, o)
    local axes, keep = read_reduction(x, o)
    assert(x.dtype == "f32", "the mean of integers, expected floats")
    if bound(x.elements) == 0 then return of_empty(x, axes, keep, 0 / 0) end
    return tools.mean(x, axes, keep)
end

-- The lowest and the highest number of each type of ONNX.
local limits = {
    bool = {0, 1}, uint8 = {0, 2 ^ 8 - 1}, uint16 = {0, 2 ^ 16 - 1}, uint32 = {0, 2 ^ 32 - 1},
    uint64 = {0, 2 ^ 64}, int8 = {-2 ^ 7, 2 ^ 7 - 1}, int16 = {-2 ^ 15, 2 ^ 15 - 1},
    int32 = {-2 ^ 31, 2 ^ 31 - 1}, int64 = {-2 ^ 63, 2 ^ 63}}
local infinite = {-math.huge, math.huge}

local function largest(x, axes, keep)
    if x.dtype == "bool" then return ne(max(int(x), axes, keep), 0) end
    return max(x, axes, keep)
end

function inline_math.reduce_max(x, o)
    local axes, keep = read_reduction(x, o)
    if bound(x.elements) == 0 then return of_empty(x, axes, keep, (limits[x.type] or infinite)[1]) end
    return largest(x, axes, keep)
end

-- Returns the negated maximum of the negated elements.  Booleans are negated by logical_not, integers by -1 - x,
-- which also exists for the lowest integer.
function inline_math.reduce_min(x, o)
    local axes, keep = read_reduction(x, o)
    if bound(x.elements) == 0 then return of_empty(x, axes, keep, (limits[x.type] or infinite)[2]) end
    if x.dtype == "bool" then return logical_not(largest(logical_not(x), axes, keep)) end
    if x.dtype == "i32" then return -1 - largest(-1 - x, axes, keep) end
    return -largest(-x, axes, keep)
end

-- ---- running sums ----

-- Returns running sums; an exclusive sum is shifted by one and begins with 0.
function inline_math.cum_sum(x, o)
    local axis = axis_of(x, assert(tools.list(o.axis), "found no axis, expected the axis of the running sums")[1])
    local reverse = (o.reverse or 0) ~= 0
    local y = cumsum(x, axis, reverse)
    if (o.exclusive or 0) == 0 or bound(x:size(axis)) == 0 then return y end
    local zero = full(0, tools.resized(x, axis, 1), x)
    local rest = narrow(y, axis, reverse and 1 or 0, sizes(x:size(axis), "-", 1))
    return concat(reverse and {rest, zero} or {zero, rest}, axis)
end

-- ---- products of matrices ----

-- Returns the shape of x with a new axis of size 1 before axis `at`.
local function with_axis(x, at)
    local shape = x.shape
    table.insert(shape, at, 1)
    return reshape(x, shape)
end

-- Multiplies matrices; of integers, for which the language has no matmul, by a sum of products.
function inline_math.matmul(a, b)
    if a.dtype ~= "i32" or b.dtype ~= "i32" then return matmul(a, b) end
    local rows, columns = a.rank > 1 and a or with_axis(a, 1), b.rank > 1 and b or with_axis(b, 2)
    assert(rows:size(-1) == columns:size(-2), "found matrices of other sizes, expected equal inner sizes")
    local y = sum(with_axis(rows, rows.rank + 1) * with_axis(columns, columns.rank - 1), -2, false)
    local shape = y.shape
    if b.rank == 1 then table.remove(shape) end
    if a.rank == 1 then table.remove(shape, #shape + (b.rank == 1 and 0 or -1)) end
    return reshape(y, shape)
end

-- alpha A B + beta C
function inline_math.gemm(a, b, c, o)
    if (o.transA or 0) ~= 0 then a = transpose(a, 1, 2) end
    if (o.transB or 0) ~= 0 then b = transpose(b, 1, 2) end
    local y = inline_math.matmul(a, b) * (o.alpha or 1)
    if c then y = y + c * (o.beta or 1) end
    return y
end

local activations = {
    LeakyRelu = function(y, o) return where(ge(y, 0), y, y * (o.activation_alpha or 0.01)) end,
    Relu = function(y) return nn.relu(y) end,
    Sigmoid = function(y) return sigmoid(y) end,
    Tanh = function(y) return tanh(y) end,
}

-- Applies an activation to the result of Gemm.
function inline_math.fused_gemm(a, b, c, o)
    local f = activations[o.activation]
    if not f then error("found the activation " .. tostring(o.activation) .. ", expected LeakyRelu, Relu, Sigmoid or Tanh") end
    return f(inline_math.gemm(a, b, c, o), o)
end

-- Prepares an operand of FusedMatMul: moves its first axis after the batch axes, and swaps its last two axes.
local function fused_operand(x, of_batch, is_swapped)
    if x.rank < 2 then return x end
    if (of_batch or 0) ~= 0 then
        local order = {}
        for axis = 1, x.rank do order[axis] = axis == x.rank and axis or axis % (x.rank - 1) + 1 end
        x = permute(x, order)
    end
    return (is_swapped or 0) ~= 0 and transpose(x, -2, -1) or x
end

-- alpha A B
function inline_math.fused_matmul(a, b, o)
    local y = inline_math.matmul(fused_operand(a, o.transBatchA, o.transA), fused_operand(b, o.transBatchB, o.transB))
    return (o.alpha or 1) == 1 and y or y * o.alpha
end

return inline_math
