-- GELU, its approximation by tanh, and ReLU, each with its derivative, at n points.

local nn = require "nn"
local statistics = require "statistics"

local o = options {low = {number = -3}, high = {number = 3}, n = 200}

-- As torch.linspace: low and high are the first and the last.
local x = o.low + float(iota({o.n}, 1)) * (o.high - o.low) / (o.n - 1)

-- Each f(x_i) depends on its own x_i alone, so the gradient of the sum has every f'(x_i).
local function derivative(f)
    return grad(statistics.total(f(x)), {x})[1]
end

return {
    x = x,
    gelu = nn.gelu(x), gelu_slope = derivative(nn.gelu),
    gelu_tanh = nn.gelu_tanh(x), gelu_tanh_slope = derivative(nn.gelu_tanh),
    relu = nn.relu(x), relu_slope = derivative(nn.relu),
}
