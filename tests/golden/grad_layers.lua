-- Layers forward and backward: two loops, the second down the layers, over what the first kept.
local nn, optim = require "nn", require "optim"
local x, step = input("x", {6, 8}), input("step", {}, "i32")
local function layer(x)
    return x + nn.dropout(tanh(scope("fc", nn.linear, x, 8)), 0.5, step)
end
for i = 0, 5 do x = scope("h." .. i, layer, x) end
local grads = optim.gradients(nn.total(x * x), parameters())
grads.y = x
return grads
