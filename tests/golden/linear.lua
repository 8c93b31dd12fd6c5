-- The C of one projection with bias and ReLU.
local nn = require "nn"
return {y = nn.relu(scope("fc", nn.linear, input("x", {5, 3}), 4))}
