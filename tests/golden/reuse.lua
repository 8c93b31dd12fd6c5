-- Values that are not alive together lie at the same place of the arena.
local x = input("x", {16, 32})
for i = 0, 4 do
    x = matmul(x, param("w." .. i, {x:size(2), 32 + 16 * (i % 3)}))
end
return {y = x}
