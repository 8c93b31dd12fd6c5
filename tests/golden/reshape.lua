-- A reshape that no affine index follows is a copy in order; the work before it stays with it.
local x = input("x", {4, 6})
local y = exp(x):reshape{3, 8}:transpose(1, 2)
return {y = y * 2, z = tanh(x):slice({0, 0}, {3, 5}):reshape{5, 3}}
