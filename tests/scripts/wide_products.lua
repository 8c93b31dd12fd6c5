-- Three products that are as wide as two of them may be together: 2^39 elements each.
local nn = require "nn"
local x = input("x", {1, 2 ^ 20, 1})
local function wide(name) return scope(name, nn.linear, x, 2 ^ 19, false) end
return {a = sum(wide("a"), 3), b = sum(wide("b"), 3), c = sum(wide("c"), 3)}
