-- RNN, GRU and LSTM of ONNX, as layers of the module recurrent; see onnx.lua.
--
-- Each output is a function of its own.  A call that says `only_shape` gives zeros of the result's shape, as
-- the steps of a long sequence take a time to build.

local recurrent = require "recurrent"

local onnx_recurrent = {}

local MOST_STEPS = 1024

-- ---- activations ----

-- Returns a function that loads a module when first called, and calls its function; alpha and beta are options.
local function of_module(module, name)
    return function(alpha, beta)
        local f = require(module)[name]
        return alpha and function(x) return f(x, {alpha = alpha, beta = beta}) end or f
    end
end

-- By name in small letters: the function that makes an activation from alpha and beta, then their defaults.
local activations = {
    tanh = {function() return tanh end},
    sigmoid = {function() return sigmoid end},
    relu = {of_module("nn", "relu")},
    softsign = {of_module("onnx_math", "softsign")},
    softplus = {of_module("onnx_math", "softplus")},
    leakyrelu = {of_module("onnx_math", "leaky_relu"), 0.01},
    thresholdedrelu = {of_module("onnx_math", "thresholded_relu"), 1},
    elu = {of_module("onnx_math", "elu"), 1},
    affine = {function(alpha, beta) return function(x) return alpha * x + beta end end, 1, 0},
    scaledtanh = {function(alpha, beta) return function(x) return alpha * tanh(beta * x) end end, 1, 1},
    hardsigmoid = {of_module("onnx_math", "hard_sigmoid"), 0.2, 0.5},
}

-- The activations of all directions, by their keys, one for each direction.  Numbers of activation_alpha and
-- activation_beta are used up, one by each activation that has one.
local function read_activations(o, cell, directions)
    local names, n, list, used = o.activations or {}, #cell.keys, {}, {alpha = 0, beta = 0}
    assert(#names == 0 or #names == n * directions, "found " .. #names .. " activations, expected " .. n * directions)
    local function take(what, usual)
        local numbers = o["activation_" .. what] or {}
        if not usual or used[what] >= #numbers then return usual end
        used[what] = used[what] + 1
        return numbers[used[what]]
    end
    for _, key in ipairs(cell.keys) do list[key] = {} end
    for d = 1, directions do
        for i, key in ipairs(cell.keys) do
            local name = tostring(names[(d - 1) * n + i] or cell.usual[i])
            local row = activations[string.lower(name)]
            assert(row, "found the activation " .. name .. ", expected one that ONNX names for the operator")
            list[key][d] = row[1](take("alpha", row[2]), take("beta", row[3]))
        end
    end
    return list
end

-- ---- cells ----

local cells = {
    rnn = {layer = recurrent.rnn, keys = {"f"}, usual = {"tanh"}, n_gates = 1},
    gru = {layer = recurrent.gru, gates = {"z", "r", "n"}, keys = {"f", "g"}, usual = {"sigmoid", "tanh"},
        n_gates = 3},
    lstm = {layer = recurrent.lstm, gates = {"i", "o", "f", "g"}, keys = {"f", "g", "h_act"},
        usual = {"sigmoid", "tanh", "tanh"}, n_gates = 4},
}

-- An input that may be left out, of a shape.
local function of_shape(x, shape, number)
    local fits = not x or x.rank == #shape
    for axis, size in ipairs(shape) do fits = fits and (not x or x.shape[axis] == size) end
    assert(fits, "input " .. number .. ": found " .. tostring(x) .. ", expected " .. #shape .. " axes that fit x and r")
    return x
end

-- Weights x [T, B, n], w [directions, gates * H, n] and r [directions, gates * H, H]; states are [directions, B,
-- H].  With layout = 1 rows are the first axis of x, of states and of results.
local function run(name, result, x, w, r, bias, lengths, h, c, peepholes, config)
    local cell, o = cells[name], layer_options("onnx_recurrent." .. name, config or {}, {
        activations = "table?", activation_alpha = "table?", activation_beta = "table?", clip = "number?",
        direction = {"string", "forward"}, hidden_size = "whole?", input_forget = {"whole", 0},
        layout = {"whole", 0}, linear_before_reset = {"whole", 0}, only_shape = {"boolean", false}})
    assert(x.rank == 3 and w and w.rank == 3 and r and r.rank == 3,
        "found x " .. tostring(x) .. ", w " .. tostring(w) .. " and r " .. tostring(r) ..
            ", expected x [T, B, n], w [directions, gates H, n] and r [directions, gates H, H]")
    local direction, rows_first = string.lower(o.direction), o.layout == 1
    if rows_first then x = permute(x, {2, 1, 3}) end
    local T, B, H, D, G = x.shape[1], x.shape[2], r.shape[3], direction == "bidirectional" and 2 or 1, cell.n_gates
    assert(T <= MOST_STEPS, "found " .. T .. " steps, expected at most " .. MOST_STEPS)
    assert((o.hidden_size or H) == H,
        "found a hidden_size of " .. tostring(o.hidden_size) .. ", expected " .. H .. " as in r")
    local function state(s, number)
        of_shape(s, rows_first and {B, D, H} or {D, B, H}, number)
        return s and (rows_first and permute(s, {2, 1, 3}) or s)
    end
    local options = read_activations(o, cell, D)
    of_shape(w, {D, G * H, x.shape[3]}, 1)
    of_shape(r, {D, G * H, H}, 2)
    options.gates, options.result, options.reverse = cell.gates, result, direction == "reverse"
    options.bias, options.lengths = of_shape(bias, {D, 2 * G * H}, 3), of_shape(lengths, {B}, 4)
    options.h, options.c = state(h, 5), state(c, 6)
    options.peepholes = of_shape(peepholes, {D, 3 * H}, 7)
    if o.clip and o.clip ~= 0 then options.clip = o.clip end
    if name == "gru" and o.linear_before_reset == 0 then options.reset_before = true end
    if o.input_forget ~= 0 then options.coupled = true end
    local y = o.only_shape and const(0, result == "y" and {T, D, B, H} or {D, B, H}) or cell.layer(x, w, r, options)
    if not rows_first then return y end
    return permute(y, result == "y" and {3, 1, 2, 4} or {2, 1, 3})
end

-- ---- operators ----

-- Returns the states after all steps, [T, directions, B, H].
function onnx_recurrent.rnn(x, w, r, bias, lengths, h, config)
    return run("rnn", "y", x, w, r, bias, lengths, h, nil, nil, config)
end

-- Returns the last state, [directions, B, H].
function onnx_recurrent.rnn_h(x, w, r, bias, lengths, h, config)
    return run("rnn", "h", x, w, r, bias, lengths, h, nil, nil, config)
end

function onnx_recurrent.gru(x, w, r, bias, lengths, h, config)
    return run("gru", "y", x, w, r, bias, lengths, h, nil, nil, config)
end

function onnx_recurrent.gru_h(x, w, r, bias, lengths, h, config)
    return run("gru", "h", x, w, r, bias, lengths, h, nil, nil, config)
end

function onnx_recurrent.lstm(x, w, r, bias, lengths, h, c, peepholes, config)
    return run("lstm", "y", x, w, r, bias, lengths, h, c, peepholes, config)
end

function onnx_recurrent.lstm_h(x, w, r, bias, lengths, h, c, peepholes, config)
    return run("lstm", "h", x, w, r, bias, lengths, h, c, peepholes, config)
end

-- Returns the last cell state, [directions, B, H].
function onnx_recurrent.lstm_c(x, w, r, bias, lengths, h, c, peepholes, config)
    return run("lstm", "c", x, w, r, bias, lengths, h, c, peepholes, config)
end

return onnx_recurrent
