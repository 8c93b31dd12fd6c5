-- Recurrent layers, unrolled over their steps: what torch.nn.RNN, GRU and LSTM compute, and the operators
-- of ONNX that are called so.
--
-- All take x [T, B, inputs], weight_ih [gates * H, inputs], weight_hh [gates * H, H] and a table:
--     gates         their order in the weights, {"i", "o", "f", "g"}; PyTorch's if nothing is said
--     bias_ih, bias_hh  [gates * H]
--     h, c          [B, H], the state before the first step; zeros
--     reverse       from the last step to the first
--     lengths       i32 [B]: steps of a row past its length leave its state, and give 0
--     clip          the greatest size of what an activation is applied to
--     f, g, h_act   the activations: of gates, of what is new, of the cell that goes out
--     result        "y": [T, B, H], every step (the default); "h" or "c": [B, H], the last state
-- The products with weight_ih are one for all steps.
--
-- Weights may have an axis more, as in ONNX: [directions, gates * H, n]. Then the other tensors have it, too
-- (y after its axis of steps), and `bias`, [directions, 2 * gates * H], has both biases. The second direction,
-- or the only one with `reverse`, goes from the last step to the first; each may have its own activations.

local recurrent = {}

local function clipped(z, o)
    return o.clip and minimum(maximum(z, -o.clip), o.clip) or z
end

-- Returns the part of z along an axis that belongs to a gate.
local function part(z, axis, gates, letter)
    local size = z:size(axis) / #gates
    for i, name in ipairs(gates) do
        if name == letter then return narrow(z, axis, (i - 1) * size, size) end
    end
    error("found no gate '" .. letter .. "' in the order of the gates, expected each gate once")
end

local function project(x, weight, bias)
    local y = matmul(x, weight:transpose(1, 2))
    if bias then y = y + bias end
    return y
end

-- Iterates over the steps: step(z, h, c) returns the next h and c, where z is the step's part of x W^T.
local function run(z, H, o, step)
    local T, B, y = z:size(1), z:size(2), {}
    local h, c = o.h or const(0, {B, H}), o.c or const(0, {B, H})
    for i = 1, T do
        local t = o.reverse and T + 1 - i or i
        local now = reshape(narrow(z, 1, t - 1, 1), {B, z:size(3)})
        local new_h, new_c = step(now, h, c)
        local out = new_h
        if o.lengths then
            local is_there = gt(reshape(o.lengths, {B, 1}), t - 1)
            new_h, new_c = where(is_there, new_h, h), new_c and where(is_there, new_c, c)
            out = where(is_there, out, 0)
        end
        h, c = new_h, new_c
        y[t] = reshape(out, {1, B, H})
    end
    return o.result == "h" and h or o.result == "c" and c or concat(y, 1)
end

-- Returns item d of a tensor along its first axis, without that axis.
local function at(x, d)
    local shape = {}
    for axis = 2, x and x.rank or 1 do shape[axis - 1] = x:size(axis) end
    return x and reshape(narrow(x, 1, d - 1, 1), shape)
end

-- Returns the options of one direction, from the options of all directions.
local function options_at(o, d)
    local own = {reverse = o.reverse or d == 2, h = at(o.h, d), c = at(o.c, d), peepholes = at(o.peepholes, d)}
    for _, name in ipairs {"gates", "lengths", "clip", "result", "reset_before", "coupled"} do own[name] = o[name] end
    for _, name in ipairs {"f", "g", "h_act"} do own[name] = type(o[name]) == "table" and o[name][d] or o[name] end
    local bias = at(o.bias, d)
    if bias then
        local half = bias:size(1) / 2
        own.bias_ih, own.bias_hh = narrow(bias, 1, 0, half), narrow(bias, 1, half, half)
    end
    return own
end

-- Raises an error for sizes that do not fit, or for a result that the layer does not have.
local function check(x, weight_ih, weight_hh, o, n_gates, n_states)
    local rank, H = weight_ih.rank, weight_hh:size(-1)
    local fits = x.rank == 3 and (rank == 2 or rank == 3) and weight_hh.rank == rank and
        weight_ih:size(-2) == n_gates * H and weight_hh:size(-2) == n_gates * H and weight_ih:size(-1) == x:size(3)
    assert(fits, "found x " .. tostring(x) .. ", " .. tostring(weight_ih) .. " and " .. tostring(weight_hh) ..
        ", expected x [T, B, n], weights [" .. n_gates .. " * H, n] and [" .. n_gates .. " * H, H]")
    assert(not o.gates or #o.gates == n_gates, "found " .. #(o.gates or {}) .. " gates, expected " .. n_gates)
    local known = {y = true, h = true, c = n_states == 2}
    assert(known[o.result or "y"], "found another result, expected y or h, or c of an LSTM")
end

-- The options that rnn, gru and lstm share.
local common = {
    gates = "table?", bias_ih = "tensor?", bias_hh = "tensor?", bias = "tensor?", h = "tensor?",
    reverse = {"boolean", false}, lengths = "tensor?", clip = "number?", f = "function|table?",
    result = {"string", "y"},
}

-- Runs a layer in one direction, or in both directions separately.
local function layer(cell, x, weight_ih, weight_hh, o, n_gates, n_states)
    check(x, weight_ih, weight_hh, o, n_gates, n_states)
    if weight_ih.rank == 2 then return cell(x, weight_ih, weight_hh, o) end
    local parts = {}
    for d = 1, weight_ih:size(1) do
        local y = cell(x, at(weight_ih, d), at(weight_hh, d), options_at(o, d))
        parts[d] = reshape(y, y.rank == 3 and {y:size(1), 1, y:size(2), y:size(3)} or {1, y:size(1), y:size(2)})
    end
    return concat(parts, parts[1].rank - 2)
end

-- h' = f(x W_ih^T + b_ih + h W_hh^T + b_hh)  (Elman: Finding Structure in Time, 1990)
local function rnn(x, weight_ih, weight_hh, o)
    local f = o.f or tanh
    return run(project(x, weight_ih, o.bias_ih), weight_hh:size(2), o, function(z, h)
        return f(clipped(z + project(h, weight_hh, o.bias_hh), o))
    end)
end

-- r, z = f(..), n = g(x W_in^T + b_in + r (h W_hn^T + b_hn)), h' = (1 - z) n + z h
-- (Cho et al.: Learning Phrase Representations using RNN Encoder-Decoder, 2014).  With `reset_before` the
-- reset gate multiplies h before the product: (r h) W_hn^T + b_hn, as in the paper.
local function gru(x, weight_ih, weight_hh, o)
    local f, g, gates, H = o.f or sigmoid, o.g or tanh, o.gates or {"r", "z", "n"}, weight_hh:size(2)
    local weight_hn = o.reset_before and part(weight_hh, 1, gates, "n")
    local bias_hn = weight_hn and o.bias_hh and part(o.bias_hh, 1, gates, "n")
    return run(project(x, weight_ih, o.bias_ih), H, o, function(xs, h)
        local hs = project(h, weight_hh, o.bias_hh)
        local function gate(letter)
            return f(clipped(part(xs, 2, gates, letter) + part(hs, 2, gates, letter), o))
        end
        local r, z = gate("r"), gate("z")
        local of_h = o.reset_before and project(r * h, weight_hn, bias_hn) or r * part(hs, 2, gates, "n")
        local n = g(clipped(part(xs, 2, gates, "n") + of_h, o))
        return (1 - z) * n + z * h
    end)
end

-- i, f, o = f(..), g = g(..), c' = f c + i g, h' = o h_act(c')
-- (Hochreiter, Schmidhuber: Long Short-Term Memory, 1997).  `peepholes`, [3 * H] for i, o and f, times the
-- cell are added to what these gates are of (Gers, Schmidhuber: Recurrent Nets that Time and Count, 2000);
-- with `coupled` f is 1 - i.
local function lstm(x, weight_ih, weight_hh, o)
    local f, g, h_act = o.f or sigmoid, o.g or tanh, o.h_act or tanh
    local gates, H = o.gates or {"i", "f", "g", "o"}, weight_hh:size(2)
    local function peephole(z, number, c)
        return o.peepholes and z + narrow(o.peepholes, 1, number * H, H) * c or z
    end
    return run(project(x, weight_ih, o.bias_ih), H, o, function(xs, h, c)
        local z = xs + project(h, weight_hh, o.bias_hh)
        local function gate(letter, number, cell)
            return f(clipped(peephole(part(z, 2, gates, letter), number, cell), o))
        end
        local input = gate("i", 0, c)
        local forget = o.coupled and 1 - input or gate("f", 2, c)
        local new = forget * c + input * g(clipped(part(z, 2, gates, "g"), o))
        return gate("o", 1, new) * h_act(new), new
    end)
end

-- Elman's recurrent network: h' = f(x W_ih^T + b_ih + h W_hh^T + b_hh).
function recurrent.rnn(x, weight_ih, weight_hh, config)
    local o = layer_options("recurrent.rnn", config or {}, common)
    return (layer(rnn, x, weight_ih, weight_hh, o, 1, 1))
end

-- Gated recurrent units: the gates are r, z and n.
function recurrent.gru(x, weight_ih, weight_hh, config)
    local o = layer_options("recurrent.gru", config or {}, common,
        {g = "function|table?", reset_before = {"boolean", false}})
    return (layer(gru, x, weight_ih, weight_hh, o, 3, 1))
end

-- Long short-term memory: the gates are i, f, g and o.
function recurrent.lstm(x, weight_ih, weight_hh, config)
    local o = layer_options("recurrent.lstm", config or {}, common, {
        c = "tensor?", g = "function|table?", h_act = "function|table?", peepholes = "tensor?",
        coupled = {"boolean", false}})
    return (layer(lstm, x, weight_ih, weight_hh, o, 4, 2))
end

return recurrent
