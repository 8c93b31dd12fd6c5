-- Kernels that read two rows of one tensor share a function that begins at the first of the two.
local x, h = input("x", {6, 40}), input("h", {1, 40})
local found = {}
for t = 0, 4 do found["y" .. t] = tanh(x:slice({t + 1, 0}, {1, 40})) * x:slice({t, 0}, {1, 40}) + h end
return found
