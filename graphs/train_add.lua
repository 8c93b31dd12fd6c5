-- The smallest training there is: a perceptron learns to add digits modulo 10.
--
--     crescent train graphs/train_add.lua
--
-- Everything of a training step is in it, and few enough of each to be read as C, which is
-- generated/train_add.c: embedding, two layers, loss, their gradients, AdamW.

local nn, optim = require "nn", require "optim"

local o = options {
    B = 64,                  -- sums at a time
    n_embd = 16, width = 64, -- of a digit; of the hidden layer
    steps = 1500, lr = {number = 0.01}, seed = 0,
}
local VALUES = 10

-- Digits [B, 2] of a step: numbers below 10, drawn, without what follows the point.
local function draw(step)
    local number, digit = random(step, {o.B, 2}, o.seed) * VALUES, 0
    local one, zero = const(1, {o.B, 2}, "i32"), const(0, {o.B, 2}, "i32")
    for value = 1, VALUES - 1 do digit = digit + where(ge(number, value), one, zero) end
    return digit
end

-- Their sums [B] without the carry.
local function add(digits)
    local sums = digits:slice({0, 0}, {o.B, 1}) + digits:slice({0, 1}, {o.B, 1})
    return where(ge(sums, VALUES), sums - VALUES, sums):reshape{o.B}
end

local step, next_step = optim.step()
local digits = scope("digits", draw, step)
local target = scope("target", add, digits)

local x = scope("embedding", nn.embedding, digits, VALUES, o.n_embd):reshape{o.B, 2 * o.n_embd}
local h = scope("hidden", nn.linear, x, o.width)
local logits = scope("output", nn.linear, scope("act", nn.gelu_tanh, h), VALUES)
local loss = scope("loss", nn.cross_entropy, logits, target)

local params = parameters()
local next = optim.adamw(params, optim.gradients(loss, params), {lr = o.lr, weight_decay = 0.01})
next.step, next.loss = next_step, loss
return next
