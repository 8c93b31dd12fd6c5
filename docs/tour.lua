-- The model of tour/a-tensor.md: a layer norm, a linear layer, ReLU, and the residual.
local nn = require "nn"

local o = options {T = 8, n_embd = 32}

local x = input("x", {o.T, o.n_embd})
local n = scope("norm", nn.layer_norm, x, {eps = 1e-5})
local h = scope("fc", nn.linear, n, o.n_embd)
return {y = x + nn.relu(h)}
