-- A norm before a projection is computed on the rows as they are read: one kernel.
local nn = require "nn"
local x = input("x", {7, 16})
local n = scope("norm", nn.layer_norm, x, {eps = 1e-5})
return {y = scope("fc", nn.linear, n, 24)}
