-- One layer's weight is read elsewhere, too, so the layers' weights lie at uneven distances.
local x = input("x", {3, 8})
for i = 0, 3 do
    x = x + tanh(matmul(x, param("w." .. i, {8, 8})) + param("b." .. i, {8}))
end
return {y = x, b = param("b.2", {8}) * 2}
