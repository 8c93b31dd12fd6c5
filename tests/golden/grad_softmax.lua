-- The gradient of softmax reads the probabilities again: (g - rowsum(g p)) p.
local nn = require "nn"
local x, g = input("x", {3, 5, 8}), input("g", {3, 5, 8})
local p = nn.softmax(x)
local loss = sum(sum(sum(p * g, -1), -2), -3)
local d = grad(loss, {x})
return {p = p, dx = d[1]}
