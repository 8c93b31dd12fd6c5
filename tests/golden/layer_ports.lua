-- A recurrence over rows in layers, each of which reads rows of an input, and of a state, of its own and stores
-- rows of an output of its own: one function that is told where it begins in a port of the layer.
local x = input("x", {1, 4})
local all = {}
for layer = 1, 3 do
    local c, before = input("c" .. layer, {4, 4}), state("s" .. layer, {4, 4})
    local w = param("w" .. layer, {4, 4})
    local rows = {}
    for t = 0, 3 do
        x = tanh(matmul(x, w) + slice(c, {t}, {1}) * slice(before, {t}, {1}))
        rows[t + 1] = x
    end
    all["y" .. layer] = concat(rows, 1)
    replace(before, c)
end
return all
