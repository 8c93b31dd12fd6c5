-- A perceptron learns "exclusive or":   lua docs/train_xor.lua
local crescent = require "crescent"
local trainer = crescent.trainer(function()
    local nn, optim = require "nn", require "optim"
    local x, want = input("x", {4, 2}), input("want", {4, 1})
    local hidden = nn.gelu(scope("hidden", nn.linear, x, 8))
    local y = scope("output", nn.linear, hidden, 1)
    local loss = scope("loss", nn.mse_loss, y, want)
    local params = parameters()
    local next = optim.adamw(params, optim.gradients(loss, params), {lr = 0.05})
    next.loss, next.y = loss, y
    return next
end)
local x = crescent.tensor({4, 2}, {{0, 0}, {0, 1}, {1, 0}, {1, 1}})
trainer:feed{x = x, want = {0, 1, 1, 0}}
trainer:step(300)
for i, y in trainer:output("y"):each() do
    print(("%d xor %d = %.0f"):format(x:get(i, 1), x:get(i, 2), math.abs(y[1])))
end
