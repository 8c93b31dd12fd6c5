-- Activations on their way up through stacked blocks, and the gradient on its way down, with
-- the norms before each part of a block (pre), behind its sum (post), before it and without
-- residual connections (none), or with neither of them (bare).
--
-- Outputs, [n_layer + 1]: mean and standard deviation before block 0, 1, ..., and of y; the
-- norm of dL/dh at the same places, where L is the sum of `readout`, a linear layer to one
-- number a token.  (The sum of y itself will not do: behind a norm it does not depend on x.)

local nn = require "nn"
local heads = require "heads"
local statistics = require "statistics"

local o = options {
    B = 4, T = 16, n_embd = 64, n_head = 4, n_layer = 4,
    arrangement = {"pre", "post", "none", "bare"},
}

local states = {input("x", {o.B, o.T, o.n_embd})}
for layer = 0, o.n_layer - 1 do
    table.insert(states, (scope("blocks." .. layer, heads.block, states[#states], {
        n_head = o.n_head, arrangement = o.arrangement})))
end
local readout = scope("readout", nn.linear, states[#states], 1)

local means, stds, norms = {}, {}, {}
for i, g in ipairs(grad(statistics.total(readout), states)) do
    means[i] = statistics.mean(states[i])
    stds[i] = statistics.std(states[i])
    norms[i] = statistics.norm(g)
end

return {
    mean = statistics.list(means), std = statistics.list(stds),
    gradient = statistics.list(norms),
}
