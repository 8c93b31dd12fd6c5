-- In each layer a product reads, for the last time, what a loop kept; its result is kept too, and lies elsewhere.
local x = input("x", {4, 8})
local kept, larger, smaller = {}, {}, {}
for i = 1, 5 do
    x = tanh(matmul(x, param("w" .. i, {8, 8})))
    kept[i] = x
end
for i = 1, 5 do
    larger[i] = matmul(transpose(kept[i], 1, 2), kept[i])
end
for i = 1, 5 do
    smaller[i] = matmul(param("u" .. i, {2, 8}), larger[i])
end
local z = input("z", {8, 2})
for i = 5, 1, -1 do
    z = matmul(transpose(smaller[i], 1, 2), tanh(matmul(smaller[i], z)))
end
return {z = z}
