-- Operators of ONNX that no layer of the language is, as `crescent import` prints them:
--
--     onnx_pictures.resize(x, {mode = "linear", sizes = {1, 3, 64, 64}})
--
-- Convolutions and pools are in onnx_conv, and what reads pictures between their elements is in
-- onnx_pictures: a script loads what it needs.
--
-- A function is an operator.  Its tensors come first, in ONNX's order, nil for one that is left
-- out; then a table of what is known when the graph is built: attributes by ONNX's names, and
-- inputs that are shapes, axes or sizes, as numbers or lists of them.  Axes count from 0 there, as
-- ONNX's do.  A size that is a length (length("batch", 8)) is no number but a tensor.
--
-- The row of an operator in compiler/import/ops.def says which inputs and attributes the function gets.
-- Import asks the front end for the shape of its result, so what a function gives is said here alone.

local tools = require "onnx_tools"
local number, bits_of, axis_of = tools.number, tools.bits_of, tools.axis_of
local along, pad = tools.along, tools.pad

local onnx = {}

-- ---- window functions ----

-- a0 - a1 cos(2 pi i / N) + a2 cos(4 pi i / N), N being the size, or one less if it is not periodic.
local function window(name, config, a0, a1, a2)
    local o = layer_options(name, config or {}, {
        size = "number|table", periodic = {"whole", 1}, output_datatype = {"whole", 1}})
    local size, list = number(o.size), {}
    assert(type(size) == "number" and size >= 1 and size <= 2 ^ 16, "expected a size of 1 to 65536")
    local turn = 2 * math.acos(-1) / (o.periodic ~= 0 and size or size - 1)
    for i = 0, size - 1 do list[i + 1] = a0 - a1 * math.cos(turn * i) + a2 * math.cos(2 * turn * i) end
    return const(list)
end

-- A sum of cosines as a window of `size` floats; periodic = 0: symmetric.
function onnx.hann_window(config)
    return window("onnx.hann_window", config, 0.5, 0.5, 0)
end

-- The same with the factors of Hamming.
function onnx.hamming_window(config)
    return window("onnx.hamming_window", config, 25 / 46, 21 / 46, 0)
end

-- The same with the factors of Blackman.
function onnx.blackman_window(config)
    return window("onnx.blackman_window", config, 0.42, 0.5, 0.08)
end

-- ---- determinants ----

-- Laplace's expansion, which computes the minor of each set of columns once: that of the last rows,
-- along its first one, with alternating signs.  Column j of a set is its bit 2^(j - 1).
function onnx.det(x)
    local n = x.rank >= 2 and x:size(-1) or 0
    assert(n >= 1 and n <= 6 and x:size(-2) == n, "expected square matrices of at most 6 rows")
    local shape, minors = x.shape, {}
    shape[x.rank], shape[x.rank - 1] = nil, nil
    local function element(i, j)
        return reshape(narrow(narrow(x, -2, i - 1, 1), -1, j - 1, 1), shape)
    end
    for columns = 1, 2 ^ n - 1 do
        local set, total = {}, nil
        for j = 1, n do
            if math.floor(columns / 2 ^ (j - 1)) % 2 == 1 then set[#set + 1] = j end
        end
        for k, j in ipairs(set) do
            local part = element(n - #set + 1, j)
            if #set > 1 then part = part * minors[columns - 2 ^ (j - 1)] end
            if not total then
                total = part
            elseif k % 2 == 0 then
                total = total - part
            else
                total = total + part
            end
        end
        minors[columns] = total
    end
    return minors[2 ^ n - 1]
end

-- ---- bits ----
--
-- The language has no bits, but its i32 wrap as two's complement does: bit i of x is x / 2^i,
-- rounded down, modulo 2.  a and b is the sum over their common bits, and the other operators
-- follow: a | b = a + b - (a & b), a ^ b = a + b - 2 (a & b), ~a = -1 - a.

-- An i32 tensor wraps as an integer type does.
local function wrap(x, type)
    local bits = bits_of[type]
    if not bits then return x end
    if type == "uint8" or type == "uint16" then return x % 2 ^ bits end
    local half = 2 ^ (bits - 1)
    return (x + half) % (2 * half) - half
end

-- A row of n whole numbers by a function of their place, from 0 on.
local function row(n, f)
    local list = {}
    for i = 1, n do list[i] = f(i - 1) end
    return const(list, {n}, "i32")
end

-- 2^i as a word has it, 0 beyond it; and two factors of 2^i that are i32 themselves, of which all
-- from 31 on stand for 2^31.
local function power(i) return i < 31 and 2 ^ i or i == 31 and -2 ^ 31 or 0 end
local function first_factor(i) return 2 ^ math.min(i, 30) end
local function second_factor(i) return i > 30 and 2 or 1 end

local function check_integers(...)
    for i = 1, select("#", ...) do
        local x = select(i, ...)
        assert(type(x) == "number" or x.dtype == "i32", "found an operand of f32, expected integers")
    end
end

-- The lowest bits along a new last axis, 0 or 1.
local function bit_planes(x, bits)
    local shape = x.shape
    shape[#shape + 1] = 1
    local y = floor_divide(reshape(x, shape), row(bits, first_factor))
    if bits == 32 then y = floor_divide(y, row(bits, second_factor)) end
    return y % 2
end

-- a & b, of which so many bits count; the highest of them is that of the sign.
local function common_bits(a, b, bits)
    if type(b) == "number" then
        for k = 1, 30 do
            if b == 2 ^ k - 1 then return a % 2 ^ k end
        end
        b = const(b, {}, "i32")
    end
    local both = bit_planes(a, bits) * bit_planes(b, bits)
    return sum(both * row(bits, power), -1, false)
end

local function read_type(name, config)
    return layer_options(name, config or {}, {type = "string?"}).type
end

-- a & b of integers; `type` is that of narrow ones, "uint8".  b may be a number.
function onnx.bitwise_and(a, b, config)
    local type = read_type("onnx.bitwise_and", config)
    check_integers(a, b)
    return wrap(common_bits(a, b, bits_of[type] or 32), type)
end

-- a | b
function onnx.bitwise_or(a, b, config)
    local type = read_type("onnx.bitwise_or", config)
    check_integers(a, b)
    return wrap(a + b - common_bits(a, b, bits_of[type] or 32), type)
end

-- a ^ b, exclusive or
function onnx.bitwise_xor(a, b, config)
    local type = read_type("onnx.bitwise_xor", config)
    check_integers(a, b)
    return wrap(a + b - 2 * common_bits(a, b, bits_of[type] or 32), type)
end

-- ~a
function onnx.bitwise_not(a, config)
    local type = read_type("onnx.bitwise_not", config)
    check_integers(a)
    return wrap(-1 - a, type)
end

-- To the left times 2^n; to the right divided by it, rounded down, which keeps the sign.  By less
-- than 0 or by more than all bits nothing but the sign is left.
function onnx.bit_shift(a, n, config)
    local o = layer_options("onnx.bit_shift", config or {}, {
        direction = {"string", "LEFT"}, type = "string?"})
    check_integers(a, n)
    n = where(lt(n, 0), 32, minimum(n, 32))
    if o.direction == "LEFT" then return wrap(a * gather(row(33, power), n), o.type) end
    local y = floor_divide(a, gather(row(33, first_factor), n))
    return wrap(floor_divide(y, gather(row(33, second_factor), n)), o.type)
end

-- ---- places ----

-- The size of blocks, and whether their axes come before the channels (DCR) or behind.
local function read_blocks(name, x, config)
    local o = layer_options(name, config or {}, {blocksize = {"whole", 1}, mode = {"string", "DCR"}})
    assert(x.rank == 4 and o.blocksize >= 1, "expected four axes and whole blocks")
    return o.blocksize, o.mode == "DCR"
end

local function whole(size)
    assert(size % 1 == 0, "expected four axes and whole blocks")
    return size
end

-- [N, b b C, H, W] to [N, C, b H, b W].
function onnx.depth_to_space(x, config)
    local b, first = read_blocks("onnx.depth_to_space", x, config)
    local N, C, H, W = x:size(1), whole(x:size(2) / (b * b)), x:size(3), x:size(4)
    local y
    if first then
        y = permute(reshape(x, {N, b, b, C, H, W}), {1, 4, 5, 2, 6, 3})
    else
        y = permute(reshape(x, {N, C, b, b, H, W}), {1, 2, 5, 3, 6, 4})
    end
    return reshape(y, {N, C, b * H, b * W})
end

-- [N, C, H, W] to [N, b b C, H / b, W / b]: the inverse of depth_to_space.
function onnx.space_to_depth(x, config)
    local b, first = read_blocks("onnx.space_to_depth", x, config)
    local N, C, H, W = x:size(1), x:size(2), whole(x:size(3) / b), whole(x:size(4) / b)
    local order = first and {1, 4, 6, 2, 3, 5} or {1, 2, 4, 6, 3, 5}
    return reshape(permute(reshape(x, {N, C, H, b, W, b}), order), {N, C * b * b, H, W})
end

-- Axes are cut or padded with 0 at both ends until they have the sizes of `shape`.
function onnx.center_crop_pad(x, config)
    local o = layer_options("onnx.center_crop_pad", config or {}, {axes = "table?", shape = "table"})
    for i, size in ipairs(o.shape) do
        local axis = o.axes and axis_of(x, o.axes[i]) or i
        if type(size) == "number" then -- a length stays
            local more = size - x:size(axis)
            local half = more >= 0 and math.floor(more / 2) or math.ceil(more / 2)
            x = pad(x, axis, half, more - half, 0)
        end
    end
    return x
end

-- Parts of the time axis are reversed up to the length of each row.
function onnx.reverse_sequence(x, lengths, config)
    local o = layer_options("onnx.reverse_sequence", config or {}, {
        batch_axis = {"whole", 1}, time_axis = {"whole", 0}})
    assert(x.rank >= 2, "expected a batch and time")
    local time = axis_of(x, o.time_axis)
    local at, length = iota(x.shape, time), along(lengths, x.rank, axis_of(x, o.batch_axis))
    return gather(x, where(lt(at, length), length - at - 1, at), time)
end

-- Running products: each element is the product before it times its own.
function onnx.cum_prod(x, config)
    local o = layer_options("onnx.cum_prod", config or {}, {
        axis = "number|table", exclusive = {"whole", 0}, reverse = {"whole", 0}})
    local axis, parts, total = axis_of(x, number(o.axis)), {}, nil
    local n = x:size(axis)
    assert(n <= 256, "products of " .. n .. " elements, expected at most 256")
    for i = 1, n do
        local at = o.reverse ~= 0 and n + 1 - i or i
        local part = narrow(x, axis, at - 1, 1)
        total = total and total * part or part
        parts[at] = total
    end
    local y = concat(parts, axis)
    if o.exclusive == 0 then return y end
    if o.reverse ~= 0 then return pad(y, axis, -1, 1, 1) end
    return pad(y, axis, 1, -1, 1)
end

return onnx
