-- A training step: the state comes in and goes out under the same names.
local nn, optim = require "nn", require "optim"
local x, target = input("x", {32, 8}), input("target", {32}, "i32")
local loss = nn.cross_entropy(scope("fc", nn.linear, x, 10), target)
local step, next_step = optim.step()
local params = parameters()
local grads, norm = optim.clip_grad_norm(optim.gradients(loss, params), 1)
local next = optim.adamw(params, grads, {
    lr = optim.cosine_schedule(step, {lr = 3e-4, warmup = 100, steps = 5000}),
    weight_decay = 0.1, decays = function(name, p) return p.rank > 1 end})
next.step, next.loss, next.norm = next_step, loss, norm
return next
