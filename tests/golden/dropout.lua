-- Dropout: random numbers are made where they are used, forward and backward.
local nn = require "nn"
local x, w = input("x", {2, 3, 8}), param("w", {8, 5})
local step = input("step", {}, "i32")
local y = nn.dropout(tanh(nn.dropout(matmul(x, w), 0.25, step)), 0.5, 3)
return {y = y, w = grad(nn.total(y * y), {w})[1]}
