-- Inputs that a step replaces, and others that read them.  A training may store `own`, `first_b` and `step`
-- over their old values, and none of the others.

local nn = require "nn"
local N = 40
local w = param("w", {N, N}, {normal = 0.1})
local function state(name)
    return input(name, {N, N}, "f32", {normal = 1})
end

local next = {}
local own, late, shifted, product = state "own", state "late", state "shifted", state "product"
local turned, a, b = state "turned", state "first_a", state "first_b"
local step = input("step", {}, "i32", {fill = 0})
next.own = 0.5 * own + 0.5 * tanh(w)
next.late = 0.9 * late + w
next.seen = matmul(nn.softmax(late), next.late)
next.shifted = concat({shifted:slice({1, 0}, {N - 1, N}), shifted:slice({0, 0}, {1, N})}, 1)
next.product = tanh(matmul(product, w))
next.turned = turned + transpose(turned, 1, 2)
next.first_a = matmul(b, w)
next.first_b = tanh(matmul(a, w))
next.w = w - 0.01 * tanh(next.own + float(step))
next.step = step + 1
next.loss = sum(next.w:reshape{-1}, 1):reshape{}
return next
