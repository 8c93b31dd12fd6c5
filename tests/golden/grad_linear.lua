-- Gradients: one product for a weight that batches share, a sum over rows for a bias.
local nn = require "nn"
local x, c = input("x", {2, 3, 4}), input("c", {2, 3, 5})
local y = scope("fc", nn.linear, x, 5)
local g = grad(sum((y * c):reshape{30}, 1):reshape{}, {x, param("fc.weight", {5, 4}, {uniform = 0.5}),
    param("fc.bias", {5}, {uniform = 0.5})})
return {x = g[1], weight = g[2], bias = g[3]}
