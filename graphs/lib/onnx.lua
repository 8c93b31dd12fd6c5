-- Operators of ONNX that no layer of the language is, as `crescent import` prints them:
--
--     onnx_pictures.resize(x, {mode = "linear", sizes = {1, 3, 64, 64}})
--
-- Convolutions and pools are in onnx_conv, what goes by indices is in onnx_index, what reads pictures
-- between their elements in onnx_pictures, and Fourier transforms in onnx_signal: a script loads what it
-- needs.
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
local along, pad, wrap = tools.along, tools.pad, tools.wrap

local onnx = {}

-- ---- window functions ----

-- a0 - a1 cos(2 pi i / N) + a2 cos(4 pi i / N), N being the size, or one less if it is not periodic.
local function window(name, config, a0, a1, a2)
    local o = layer_options(name, config or {}, {
        size = "number|table", periodic = {"whole", 1}, output_datatype = {"whole", 1}})
    local size, list = number(o.size), {}
    assert(type(size) == "number" and size >= 1 and size <= 2 ^ 16,
        "found a size of " .. tostring(size) .. ", expected 1 to 65536")
    local turn = 2 * math.acos(-1) / (o.periodic ~= 0 and size or size - 1)
    for i = 0, size - 1 do list[i + 1] = a0 - a1 * math.cos(turn * i) + a2 * math.cos(2 * turn * i) end
    return const(list)
end

-- A sum of cosines as a window of `size` floats; periodic = 0: symmetric.
function onnx.hann_window(config)
    return window("onnx.hann_window", config, 0.5, 0.5, 0)
end

-- A window like hann_window, with the factors of Hamming.
function onnx.hamming_window(config)
    return window("onnx.hamming_window", config, 25 / 46, 21 / 46, 0)
end

-- A window like hann_window, with the factors of Blackman.
function onnx.blackman_window(config)
    return window("onnx.blackman_window", config, 0.42, 0.5, 0.08)
end

-- ---- determinants ----

-- Determinants by Laplace's expansion.  Each minor, of the last rows and a set of columns, is computed once,
-- along its first row, with alternating signs.  Column j is bit 2^(j - 1) of a set's number.
function onnx.det(x)
    local n = x.rank >= 2 and x:size(-1) or 0
    assert(n >= 1 and n <= 6 and x:size(-2) == n,
        "found a matrix of another shape, expected square matrices of at most 6 rows")
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

-- Returns a row of n whole numbers, computed by a function of their positions 0, 1, ...
local function row(n, f)
    local list = {}
    for i = 1, n do list[i] = f(i - 1) end
    return const(list, {n}, "i32")
end

-- power: 2^i as a 32-bit word, 0 from i = 32 on.  The next function: two i32 factors of 2^i, where every i from
-- 31 on stands for 31.
local function power(i) return i < 31 and 2 ^ i or i == 31 and -2 ^ 31 or 0 end
local function first_factor(i) return 2 ^ math.min(i, 30) end
local function second_factor(i) return i > 30 and 2 or 1 end

local function check_integers(...)
    for i = 1, select("#", ...) do
        local x = select(i, ...)
        assert(type(x) == "number" or x.dtype == "i32", "found an operand of f32, expected integers")
    end
end

-- Returns the lowest `bits` bits of x, 0 or 1, along a new last axis.
local function bit_planes(x, bits)
    local shape = x.shape
    shape[#shape + 1] = 1
    local y = floor_divide(reshape(x, shape), row(bits, first_factor))
    if bits == 32 then y = floor_divide(y, row(bits, second_factor)) end
    return y % 2
end

-- Returns a & b of numbers with `bits` bits, the highest of which is the sign bit.
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

-- Returns a & b of integers.  config.type is a narrower type, "uint8"; b may be a number.
function onnx.bitwise_and(a, b, config)
    local type = read_type("onnx.bitwise_and", config)
    check_integers(a, b)
    return wrap(common_bits(a, b, bits_of[type] or 32), type)
end

-- Returns a | b.
function onnx.bitwise_or(a, b, config)
    local type = read_type("onnx.bitwise_or", config)
    check_integers(a, b)
    return wrap(a + b - common_bits(a, b, bits_of[type] or 32), type)
end

-- Returns a ^ b, exclusive or.
function onnx.bitwise_xor(a, b, config)
    local type = read_type("onnx.bitwise_xor", config)
    check_integers(a, b)
    return wrap(a + b - 2 * common_bits(a, b, bits_of[type] or 32), type)
end

-- Returns ~a.
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

-- Returns the size of blocks, and true if their axes come before the channels (DCR), not after them.
local function read_blocks(name, x, config)
    local o = layer_options(name, config or {}, {blocksize = {"whole", 1}, mode = {"string", "DCR"}})
    assert(x.rank == 4 and o.blocksize >= 1,
        "found " .. x.rank .. " axes and the blocksize " .. o.blocksize .. ", expected 4 axes and at least 1")
    return o.blocksize, o.mode == "DCR"
end

local function whole(size)
    assert(size % 1 == 0, "found an axis that the blocksize does not divide, expected whole blocks")
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

-- Crops axes, or pads them with 0, at both ends, so that they have the sizes of `shape`.
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

-- Repeats x along each axis as often as the list says.
function onnx.tile(x, config)
    local o = layer_options("onnx.tile", config or {}, {repeats = "table"})
    assert(#o.repeats == x.rank,
        "found " .. #o.repeats .. " repeats for " .. x.rank .. " axes, expected one for each axis")
    for axis, times in ipairs(o.repeats) do
        if x:size(axis) == 1 then -- also as often as a length
            local shape = x.shape
            shape[axis] = times
            x = expand(x, shape)
        elseif times ~= 1 then
            assert(type(times) == "number" and times >= 1 and times <= 64,
                "found " .. tostring(times) .. " repeats along axis " .. axis - 1 .. ", expected 1 to 64")
            local copies = {}
            for i = 1, times do copies[i] = x end
            x = concat(copies, axis)
        end
    end
    return x
end

-- Keeps the upper or the lower triangle of matrices, from diagonal k on; sets other elements to 0.
function onnx.trilu(x, config)
    local o = layer_options("onnx.trilu", config or {}, {k = {"number|table", 0}, upper = {"whole", 1}})
    assert(x.rank >= 2, "found a tensor of " .. x.rank .. " axes, expected matrices")
    local shape = {x:size(-2), x:size(-1)}
    local diagonal, column = iota(shape, 1) + number(o.k), iota(shape, 2)
    local kept = o.upper ~= 0 and ge(column, diagonal) or le(column, diagonal)
    return x.dtype == "bool" and logical_and(kept, x) or where(kept, x, 0)
end

-- Reverses the beginning of the time axis, up to the length of each row.
function onnx.reverse_sequence(x, lengths, config)
    local o = layer_options("onnx.reverse_sequence", config or {}, {
        batch_axis = {"whole", 1}, time_axis = {"whole", 0}})
    assert(x.rank >= 2, "found a tensor of " .. x.rank .. " axes, expected a batch axis and a time axis")
    local time = axis_of(x, o.time_axis)
    local at, length = iota(x.shape, time), along(lengths, x.rank, axis_of(x, o.batch_axis))
    return gather(x, where(lt(at, length), length - at - 1, at), time)
end

-- Returns running products: each element times the product of the elements before it.
function onnx.cum_prod(x, config)
    local o = layer_options("onnx.cum_prod", config or {}, {
        axis = "number|table", exclusive = {"whole", 0}, reverse = {"whole", 0}})
    local axis, parts, total = axis_of(x, number(o.axis)), {}, nil
    local n = x:size(axis)
    assert(n <= 256, "found products of " .. n .. " elements, expected at most 256")
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

-- ---- sums of products ----
--
-- The axes of an operand have names: letters, and "...1", "...2" from the last one on for an ellipsis.

-- Returns the position of a name in a list, searched from position `first` on; nil if it is not there.
local function place_of(names, name, first)
    for i = first or 1, #names do
        if names[i] == name then return i end
    end
end

-- Splits an equation into the texts of the operands and the text of the result, or nil: {"ij", "jk"}, "ik".
local function split_equation(equation)
    local operands, result = {""}, nil
    for i = 1, #equation do
        local c = equation:sub(i, i)
        if c == "," then
            operands[#operands + 1] = ""
        elseif c == ">" then
            result = ""
        elseif c ~= " " and c ~= "-" then
            if result then
                result = result .. c
            else
                operands[#operands] = operands[#operands] .. c
            end
        end
    end
    return operands, result
end

-- Returns the names in a text; `ellipsis` is the number of axes that "..." stands for.
local function read_names(text, ellipsis)
    local names, dots = {}, 0
    for i = 1, #text do
        local c = text:sub(i, i)
        if c ~= "." then
            names[#names + 1] = c
        else
            dots = dots + 1
            for axis = dots == 3 and ellipsis or 0, 1, -1 do names[#names + 1] = "..." .. axis end
        end
    end
    return names
end

-- Returns the names of the result if the equation does not give them: the ellipsis, then letters that occur once.
local function implied_names(every)
    local dots, letters = {}, {}
    for _, name in ipairs(every) do
        local list = #name > 1 and dots or letters
        local at = place_of(every, name)
        local is_new = not place_of(list, name)
        if is_new and (list == dots or not place_of(every, name, at + 1)) then list[#list + 1] = name end
    end
    table.sort(dots, function(a, b) return a > b end)
    table.sort(letters)
    for _, name in ipairs(letters) do dots[#dots + 1] = name end
    return dots
end

-- Parses an equation: own, the names of each operand; all names, each once; out, the names of the result.
local function read_equation(equation, operands)
    local texts, result = split_equation(equation)
    assert(#texts == #operands,
        "found " .. #operands .. " operands for the equation " .. equation .. ", expected " .. #texts)
    local own, every, all, most = {}, {}, {}, 0
    for i, x in ipairs(operands) do
        local ellipsis = x.rank - #read_names(texts[i], 0)
        own[i], most = read_names(texts[i], ellipsis), math.max(most, ellipsis)
        assert(#own[i] == x.rank, "equation " .. equation
            .. " does not fit its operands, expected a letter for each axis")
        for _, name in ipairs(own[i]) do
            if not place_of(every, name) then all[#all + 1] = name end
            every[#every + 1] = name
        end
    end
    local out = result and read_names(result, most) or implied_names(every)
    for i, name in ipairs(out) do
        assert(place_of(every, name) and not place_of(out, name, i + 1), "equation " .. equation
            .. " has a result letter twice, or one that no operand has, expected each once")
    end
    return {own = own, all = all, out = out}
end

-- The names of `all` that the function is true for.
local function select_names(all, is_wanted)
    local names = {}
    for _, name in ipairs(all) do
        if is_wanted(name) then names[#names + 1] = name end
    end
    return names
end

-- Returns the positions of some names in a list.
local function places_of(names, some)
    local places = {}
    for i, name in ipairs(some) do places[i] = place_of(names, name) end
    return places
end

-- Adds to a plan how two operands become matrices, if they do.  Batch names are in both operands and
-- the result, summed ones in both operands alone, rows in the first one, columns in the second one.
-- left and right have the places of those that merge into an axis; order is that of the result.
local function plan_matmul(plan)
    local a, b, out, order = plan.own[1], plan.own[2], plan.out, {}
    local function names(in_a, in_b, in_out)
        return select_names(plan.all, function(name)
            return (place_of(a, name) ~= nil) == in_a and (place_of(b, name) ~= nil) == in_b
                and (place_of(out, name) ~= nil) == in_out
        end)
    end
    local batch, rows = names(true, true, true), names(true, false, true)
    local columns, summed = names(false, true, true), names(true, true, false)
    if #summed == 0 or #batch + #rows + #summed ~= #a or #batch + #columns + #summed ~= #b then return end
    plan.left = {places_of(a, batch), places_of(a, rows), places_of(a, summed)}
    plan.right = {places_of(b, batch), places_of(b, summed), places_of(b, columns)}
    for _, group in ipairs{batch, rows, columns} do
        for _, name in ipairs(group) do order[#order + 1] = name end
    end
    plan.order = places_of(order, out)
end

local plans = {} -- by equation and ranks: layers have the same

local function plan_of(equation, operands)
    local key = equation
    for _, x in ipairs(operands) do key = key .. " " .. x.rank end
    if not plans[key] then
        plans[key] = read_equation(equation, operands)
        if #operands == 2 then plan_matmul(plans[key]) end
    end
    return plans[key]
end

-- Permutes the axes of x to the order of `all`, with size 1 for names that it lacks.  Takes the
-- diagonal of a name that it has twice.
local function spread(x, own, all)
    local names, axes, shape = {}, {}, {}
    for _, name in ipairs(own) do
        local i, other = place_of(names, name), #names + 1
        if i then
            x = sum(where(eq(iota(x.shape, i), iota(x.shape, other)), x, 0), other, false)
        else
            names[other] = name
        end
    end
    for i, name in ipairs(all) do
        local at = place_of(names, name)
        shape[i] = at and x:size(at) or 1
        if at then axes[#axes + 1] = at end
    end
    return reshape(permute(x, axes), shape)
end

-- Merges the axes of each group of positions into one axis.
local function merge(x, groups)
    local sizes, axes, shape = x.shape, {}, {}
    for i, places in ipairs(groups) do
        shape[i] = 1
        for _, at in ipairs(places) do
            axes[#axes + 1], shape[i] = at, shape[i] * sizes[at]
        end
    end
    return reshape(permute(x, axes), shape)
end

-- Computes an equation of two operands as a matmul; returns nil if batch sizes differ.
local function as_matmul(a, b, plan)
    local left, right, from, to, shape = plan.left, plan.right, a.shape, b.shape, {}
    for i, at in ipairs(left[1]) do
        shape[i] = from[at]
        if from[at] ~= to[right[1][i]] then return nil end
    end
    for _, at in ipairs(left[2]) do shape[#shape + 1] = from[at] end
    for _, at in ipairs(right[3]) do shape[#shape + 1] = to[at] end
    return permute(reshape(matmul(merge(a, left), merge(b, right)), shape), plan.order)
end

-- Computes sums of products: einsum({a, b}, {equation = "ij,jk->ik"}) is a matmul.
function onnx.einsum(operands, config)
    local o = layer_options("onnx.einsum", config or {}, {equation = "string"})
    local plan, y = plan_of(o.equation, operands), nil
    if plan.left and operands[1].dtype == "f32" then y = as_matmul(operands[1], operands[2], plan) end
    if y then return y end
    for i, x in ipairs(operands) do
        local factor = spread(x, plan.own[i], plan.all)
        y = y and y * factor or factor
    end
    local summed = {}
    for i, name in ipairs(plan.all) do
        if not place_of(plan.out, name) then summed[#summed + 1] = i end
    end
    if #summed > 0 then y = sum(y, summed, false) end
    local left = select_names(plan.all, function(name) return place_of(plan.out, name) end)
    return permute(y, places_of(left, plan.out))
end

return onnx
