-- What is added to the product of a number and a probability stays: even 0, as -0 + 0 is 0, and in gradients.
local nn = require "nn"
local x, b, s = input("x", {4, 6}), input("b", {4, 6}), input("s", {4, 6})
local p = nn.softmax(s)
local minus = where(gt(x, 9), x, -0.0)
local loss = nn.total(x * x * b) + nn.total(x * p * b)
return {y = x * p + b, z = 1 / (minus * p + 0), dx = grad(loss, {x})[1]}
