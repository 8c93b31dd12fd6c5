-- The plan says how much of the arena the forward pass keeps for the backward pass.
local nn = require "nn"
local x = input("x", {8, 16})
local h = tanh(scope("fc1", nn.linear, x, 32))
local y = scope("fc2", nn.linear, tanh(scope("fc", nn.linear, h, 32)), 16)
local loss = sum(sum(y * y, 2), 1):reshape{}
local g = grad(loss, {x, param("fc1.weight", {32, 16}, {uniform = 0.25})})
return {loss = loss, x = g[1], weight = g[2]}
