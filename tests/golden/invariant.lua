-- A value made before the loop and read in every iteration keeps its place until the loop ends.
local x, memory = input("x", {4, 8}), input("memory", {4, 8})
local before = matmul(memory, param("before", {8, 8}))
for i = 0, 2 do
    local h = matmul(x, param("a." .. i, {8, 8})) + before
    x = tanh(matmul(matmul(h, param("b." .. i, {8, 8})), param("c." .. i, {8, 8})))
end
return {y = x}
