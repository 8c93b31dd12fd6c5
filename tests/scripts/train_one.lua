-- One step of training a small net: what it returns under the name of a parameter or an
-- input is the value for the next step.

local nn, optim = require "nn", require "optim"

local o = options {dropout = 0.1, validation = false}

local N, V, C = 12, 7, 16
local ids, target = input("ids", {N}, "i32"), input("target", {N}, "i32")
local step, next_step = optim.step()

local x = scope("embed", nn.embedding, ids, V, C)
local h = nn.gelu(scope("fc1", nn.linear, scope("norm", nn.layer_norm, x, {eps = 1e-5}), 32))
local logits = scope("fc2", nn.linear, nn.dropout(h, o.dropout, not o.validation and step or nil), V)
local loss = nn.cross_entropy(logits, target)

local params = parameters()
local grads, norm = optim.clip_grad_norm(optim.gradients(loss, params), 1)
local next = optim.adamw(params, grads, {
    lr = optim.cosine_schedule(step, {lr = 0.02, min_lr = 0.002, warmup = 5, steps = 40}),
    weight_decay = 0.1, decays = function(name, p) return p.rank > 1 end})
next.step, next.loss, next.norm = next_step, loss, norm
return next
