-- A recurrent network, unrolled over its T steps: all hidden states y, and the last one, h.
-- cell: "lstm" (Hochreiter, Schmidhuber 1997), "gru" (Cho et al. 2014) or "rnn" (Elman 1990).
local o = options {B = 2, T = 16, D = 12, H = 16, cell = "lstm"}

local n_gates = ({lstm = 4, gru = 3, rnn = 1})[o.cell]
local x = input("x", {o.B, o.T, o.D})
local weight_ih = param("weight_ih", {o.D, n_gates * o.H}, {normal = 0.2})
local weight_hh = param("weight_hh", {o.H, n_gates * o.H}, {normal = 0.2})
local bias = param("bias", {n_gates * o.H}, {normal = 0.1})

local function gate(z, i)
    return z:slice({0, i * o.H}, {o.B, o.H})
end

local cells = {}

function cells.rnn(x, h, c)
    return (x:matmul(weight_ih) + h:matmul(weight_hh) + bias):tanh(), c
end

function cells.lstm(x, h, c)
    local z = x:matmul(weight_ih) + h:matmul(weight_hh) + bias
    c = gate(z, 1):sigmoid() * c + gate(z, 0):sigmoid() * gate(z, 2):tanh()
    return gate(z, 3):sigmoid() * c:tanh(), c
end

function cells.gru(x, h, c)
    local a, z = x:matmul(weight_ih) + bias, h:matmul(weight_hh)
    local reset = (gate(a, 0) + gate(z, 0)):sigmoid()
    local update = (gate(a, 1) + gate(z, 1)):sigmoid()
    local new = (gate(a, 2) + reset * gate(z, 2)):tanh()
    return (1 - update) * new + update * h, c
end

local h, c, y = const(0, {o.B, o.H}), const(0, {o.B, o.H}), {}
for t = 0, o.T - 1 do
    h, c = cells[o.cell](x:slice({0, t, 0}, {o.B, 1, o.D}):reshape {o.B, o.D}, h, c)
    y[t + 1] = h:reshape {o.B, 1, o.H}
end
return {y = concat(y, 2), h = h}
