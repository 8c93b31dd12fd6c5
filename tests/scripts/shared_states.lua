-- A step over micro-batches whose states ranks share in part: momentum and a running mean of the weights go along
-- rows; a mean of squares has one number a row; a state is read by a product, and stays whole, and so does one that a
-- product computes; a bias is too small to be shared.  The validation reads the running mean.

local nn, optim = require "nn", require "optim"
local o = options {steps = 12, micro_batches = 4, N = 5, bad = false, validation = false}

local C, H = 48, 40
local w = param("w", {C, H}, {uniform = 0.3})
local v = param("v", {1, H, C}, {uniform = 0.3}) -- its first axis is not the shared one
local b = param("b", {H}, {uniform = 0.3})
local mean = input("mean.w", {C, H}, "f32", {fill = 0})

local step, next_step = optim.step()
local micro = optim.micro_batches(o.micro_batches)
local x = random(o.validation and 1000000 or micro.number(step), {o.N, C}, 3)
local h = nn.gelu(matmul(x, o.validation and mean or w) + b)
local loss = nn.mean((matmul(h, v:reshape{H, C}) - x * x):reshape{-1} ^ 2, 1):reshape{}

local params = {w = w, v = v, b = b}
local grads = micro.mean(optim.gradients(loss, params))
local next = optim.sgd({v = v, b = b}, {v = grads.v, b = grads.b}, {lr = 0.05, momentum = 0.9})
local rows = input("rows.w", {C, 1}, "f32", {fill = 0})
local turn = input("turn.w", {C, H}, "f32", {fill = 0})
next["rows.w"] = 0.9 * rows + 0.1 * nn.mean(grads.w * grads.w, 2, true)
next["turn.w"] = 0.8 * turn + grads.w
local turned = matmul(turn, matmul(turn:transpose(1, 2), grads.w))
next.w = w - 0.01 * (grads.w + 0.001 * turned) / (sqrt(next["rows.w"]) + 1e-3)
local late = input("late.w", {C, H}, "f32", {fill = 0})
next["late.w"] = turned
next["mean.w"] = 0.9 * mean + 0.1 * next.w + 1e-3 * late
if o.bad then -- in a row of the last rank
    next["mean.w"] = next["mean.w"] + sqrt(44.5 - float(iota({C, 1}, 1)))
end
next.step, next.loss = next_step, micro.mean(loss, "loss")
return micro.step(next)
