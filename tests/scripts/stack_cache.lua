-- Layers that each have inputs and outputs of their own, as those that generate text keep keys and
-- values: a loop takes them from layer to layer.
local nn = require "nn"
local o = options {n_layer = 12}
local x, outputs = input("x", {1, 8}), {}
for i = 0, o.n_layer - 1 do
    x = scope("h." .. i, function()
        local keys, values = input("keys." .. i, {5, 8}), input("values." .. i, {5, 8})
        local key = scope("key", nn.linear, x, 8)
        local value = scope("value", nn.linear, x, 8)
        local query = scope("query", nn.linear, x, 8)
        keys, values = concat({keys, key}, 1), concat({values, value}, 1)
        outputs["keys." .. i], outputs["values." .. i] = keys, values
        return x + matmul(nn.softmax(matmul(query, keys:permute{2, 1})), values)
    end)
end
outputs.y = x
return outputs
