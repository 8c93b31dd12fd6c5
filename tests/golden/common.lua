-- Equal nodes become one, dead ones go; inputs and parameters stay, used or not.
local x, unused = input("x", {4}), input("unused", {2})
local w = param("w", {4})
local dead = tanh(x + w)
return {a = exp(x * w) + 1, b = exp(x * param("w", {4})) + 2}
