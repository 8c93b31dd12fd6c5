-- How much of a gradient arrives at each layer of a deep net, with residual connections and
-- without.  Three nets of the same linear layers: h + tanh(f(h)), tanh(f(h)) and f(h) alone.
--
-- Outputs, [depth + 1]: the norm of dL/dh before layer 0, 1, ..., and of dL/dy at the end,
-- where L is the sum of the elements of y.

local nn = require "nn"
local statistics = require "statistics"

local o = options {B = 4, dim = 32, depth = 10}

local function linear(h, layer)
    return (scope("layers." .. layer, nn.linear, h, o.dim))
end

-- The norms of the gradients of a net each of whose layers is `step`.
local function gradient_norms(x, step)
    local states = {x}
    for layer = 0, o.depth - 1 do
        table.insert(states, step(states[#states], layer))
    end
    local norms = {}
    for i, g in ipairs(grad(statistics.total(states[#states]), states)) do
        norms[i] = statistics.norm(g)
    end
    return statistics.list(norms)
end

local x = input("x", {o.B, o.dim})

return {
    residual = gradient_norms(x, function(h, layer) return h + tanh(linear(h, layer)) end),
    plain = gradient_norms(x, function(h, layer) return tanh(linear(h, layer)) end),
    linear = gradient_norms(x, linear),
}
