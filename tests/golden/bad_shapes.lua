-- Shapes that do not fit: the line, the op, both shapes.
local x = input("x", {2, 3})
local w = param("w", {4, 5})
local y = matmul(x, w)
return {y = y}
