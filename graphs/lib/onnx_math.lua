-- Functions of ONNX that work element by element, made of those of the language; see onnx.lua.

local nn = require "nn"
local tools = require "onnx_tools"
local clamp = tools.clamp

local onnx_math = {}

-- ---- trigonometric and hyperbolic functions ----

function onnx_math.tan(x)
    return sin(x) / cos(x)
end

function onnx_math.sinh(x)
    return (exp(x) - exp(-x)) * 0.5
end

function onnx_math.cosh(x)
    return (exp(x) + exp(-x)) * 0.5
end

-- Returns log(x + sqrt(x^2 + c)).
local function log_root(x, c)
    return log(x + sqrt(x ^ 2 + c))
end

-- Computed for |x| and given the sign of x, since the sum would cancel for x < 0.
function onnx_math.asinh(x)
    local y = log_root(abs(x), 1)
    return where(lt(x, 0), -y, y)
end

function onnx_math.acosh(x)
    return log_root(x, -1)
end

function onnx_math.atanh(x)
    return log((x + 1) / (1 - x)) * 0.5
end

-- Of |x| within 2e-7: it is brought below tan(pi / 8), where a polynomial holds (Moshier, Cephes:
-- atanf).
function onnx_math.atan(x)
    local a, p = abs(x), 8.05374449538e-2
    local large, middle = gt(a, 2.414213562373095), gt(a, 0.4142135623730950)
    local z = where(large, -1 / a, where(middle, (a - 1) / (a + 1), a))
    local start = where(large, math.acos(-1) / 2, float(middle) * (math.acos(-1) / 4))
    local q = z * z
    for _, term in ipairs {-1.38776856032e-1, 1.99777106478e-1, -3.33329491539e-1} do p = p * q + term end
    local y = start + (p * q * z + z)
    return where(lt(x, 0), -y, y)
end

-- atan(x / sqrt((1 - x) (1 + x)))
function onnx_math.asin(x)
    return onnx_math.atan(x / sqrt((1 - x) * (1 + x)))
end

function onnx_math.acos(x)
    return math.acos(-1) / 2 - onnx_math.asin(x)
end

-- ---- activations ----

local function read_alpha(name, config, otherwise)
    return layer_options(name, config or {}, {alpha = {"number", otherwise}}).alpha
end

-- Returns x where x > at, else y.
local function above(x, at, y)
    return where(gt(x, at), x, y)
end

function onnx_math.leaky_relu(x, config)
    return above(x, 0, x * read_alpha("onnx_math.leaky_relu", config, 0.01))
end

function onnx_math.prelu(x, slope)
    return above(x, 0, x * slope)
end

-- Returns a (e^(x / scale) - 1) for x <= 0, else x.
local function elu(x, a, scale)
    return above(x, 0, (exp(minimum(x, 0) / scale) - 1) * a)
end

function onnx_math.elu(x, config)
    return elu(x, read_alpha("onnx_math.elu", config, 1), 1)
end

function onnx_math.celu(x, config)
    local alpha = read_alpha("onnx_math.celu", config, 1)
    return elu(x, alpha, alpha)
end

function onnx_math.selu(x, config)
    local o = layer_options("onnx_math.selu", config or {}, {
        alpha = {"number", 1.6732631921768188}, gamma = {"number", 1.0507010221481323}})
    return elu(x, o.alpha, 1) * o.gamma
end

function onnx_math.thresholded_relu(x, config)
    return above(x, read_alpha("onnx_math.thresholded_relu", config, 1), 0)
end

function onnx_math.hard_sigmoid(x, config)
    local o = layer_options("onnx_math.hard_sigmoid", config or {}, {
        alpha = {"number", 0.2}, beta = {"number", 0.5}})
    return clamp(x * o.alpha + o.beta, 0, 1)
end

function onnx_math.hard_swish(x)
    return x * clamp(x * (1 / 6) + 0.5, 0, 1)
end

-- Returns log(1 + e^x); nothing overflows.
function onnx_math.softplus(x)
    return maximum(x, 0) + log(exp(-abs(x)) + 1)
end

-- Swish of the gate, times up: nn.swiglu if alpha is 1.
function onnx_math.swiglu(gate, up, config)
    local o = layer_options("onnx_math.swiglu", config or {}, {alpha = {"number", 1}})
    if o.alpha == 1 then return nn.swiglu(gate, up) end
    return gate * sigmoid(gate * o.alpha) * up
end

function onnx_math.mish(x)
    return x * tanh(onnx_math.softplus(x))
end

function onnx_math.softsign(x)
    return x / (abs(x) + 1)
end

function onnx_math.shrink(x, config)
    local o = layer_options("onnx_math.shrink", config or {}, {bias = {"number", 0}, lambd = {"number", 0.5}})
    return where(gt(x, o.lambd), x - o.bias, where(lt(x, -o.lambd), x + o.bias, 0))
end

-- True where x is infinite; attributes select which signs count.
function onnx_math.is_inf(x, config)
    local o = layer_options("onnx_math.is_inf", config or {}, {
        detect_positive = {"whole", 1}, detect_negative = {"whole", 1}})
    local above, below = eq(x, math.huge), eq(x, -math.huge)
    if o.detect_negative == 0 then
        return o.detect_positive ~= 0 and above or logical_and(above, below)
    end
    return o.detect_positive == 0 and below or logical_or(above, below)
end

-- Returns the mean of several tensors, element by element.
function onnx_math.mean(list)
    local total = list[1]
    for i = 2, #list do total = total + list[i] end
    return total / #list
end

-- ---- reductions ----

-- The axes that a reduction is over, all if the node names none; and a function that removes them from
-- a result in which they have size 1, unless they are kept.
local function read_reduction(name, x, config)
    local o = layer_options(name, config or {}, {
        axes = "number|table?", keepdims = {"whole", 1}, noop_with_empty_axes = {"whole", 0}})
    local given, axes, gone, shape = o.axes or {}, {}, {}, {}
    if type(given) == "number" then given = {given} end
    for i, axis in ipairs(given) do axes[i] = tools.axis_of(x, axis) end
    for i = 1, #axes == 0 and o.noop_with_empty_axes == 0 and x.rank or 0 do axes[i] = i end
    for _, axis in ipairs(axes) do gone[axis] = true end
    for i, size in ipairs(x.shape) do
        if not gone[i] then shape[#shape + 1] = size end
    end
    return axes, function(y)
        if o.keepdims ~= 0 or #axes == 0 then return y end
        return reshape(y, shape)
    end
end

-- Returns the product over axes, slice by slice, since the language has no such reduction.
function onnx_math.reduce_prod(x, config)
    local axes, remove = read_reduction("onnx_math.reduce_prod", x, config)
    for _, axis in ipairs(axes) do
        local n, total = x:size(axis), nil
        assert(n <= 256, "found a product of " .. n .. " elements, expected at most 256")
        for i = 0, n - 1 do
            local part = narrow(x, axis, i, 1)
            total = total and total * part or part
        end
        x = total
    end
    return remove(x)
end

-- Returns log(sum(exp(x))); subtracts the maximum before exp, so that nothing overflows.
function onnx_math.reduce_log_sum_exp(x, config)
    local axes, remove = read_reduction("onnx_math.reduce_log_sum_exp", x, config)
    if #axes == 0 then return x end
    local top = max(x, axes)
    return remove(log(sum(exp(x - top), axes)) + top)
end

return onnx_math
