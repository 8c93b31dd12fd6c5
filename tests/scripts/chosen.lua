-- Layers of experts, of which a number that is computed chooses one for all rows.
local x, at = input("x", {3, 64}), input("at", {5}, "i32")
for layer = 1, 5 do
    scope("l" .. layer, function()
        local id = remainder(at:slice({layer - 1}, {1}) + 1, 4)
        local up, down = param("up", {4, 64, 96}, {normal = 0.1}), param("down", {4, 96, 64}, {normal = 0.1})
        local h = x:matmul(gather(up, id):reshape({64, 96}))
        x = x + (h * sigmoid(h)):matmul(gather(down, id):reshape({96, 64}))
    end)
end
return {y = x}
