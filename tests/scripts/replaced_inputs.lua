-- Inputs and parameters that a step replaces, and others that read them.  A training may store `own`,
-- `first_b`, `step`, `shift` and `scale` over their old values, and none of the other inputs; `w`, too.

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
-- parameters: of each element, the last reader computes its replacement; or another kernel, or another element
local shift, scale = param("shift", {N, N}, {normal = 0.1}), param("scale", {N}, {normal = 0.1})
local read_late, mixed = param("read_late", {N, N}, {normal = 0.1}), param("mixed", {N, N}, {normal = 0.1})
next.shift = 0.9 * shift + 0.01 * float(step)
next.scale = scale * (1 + 0.1 * tanh(scale))
next.read_late = 0.9 * read_late + tanh(w)
next.seen = next.seen + matmul(nn.softmax(read_late), next.read_late)
next.mixed = 0.5 * mixed + 0.5 * transpose(mixed, 1, 2)
next.w = w - 0.01 * tanh(next.own + float(step))
next.step = step + 1
next.loss = sum(next.w:reshape{-1}, 1):reshape{}
return next
