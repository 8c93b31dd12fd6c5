-- Two values handed from layer to layer; the layers share one weight and have one of their own.
local x, memory = input("x", {4, 8}), input("memory", {4, 8})
local shared = param("shared", {8, 8})
for i = 0, 3 do
    x = tanh(matmul(x + memory, shared))
    memory = memory + matmul(x, param("own." .. i, {8, 8}))
end
return {x = x, memory = memory}
