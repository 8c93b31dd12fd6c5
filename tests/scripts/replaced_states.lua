-- A step whose states are read in every order: two change places, one is replaced by itself, one is read after its next
-- value is stored, and by a product; one is a part of another's next value, one is not replaced.

local nn, optim = require "nn", require "optim"

local M, N = 24, 40
local w = param("w", {M, N}, {uniform = 0.3})
local first = input("first", {M, N}, "f32", {fill = 1})
local second = input("second", {M, N}, "f32", {fill = 2})
local same = input("same", {N}, "f32", {fill = 3})
local late = input("late", {M, M}, "f32", {fill = 0})
local shifted = input("shifted", {M, N}, "f32", {fill = 0})
local count = input("count", {3}, "i32", {fill = 0})

local step, next_step = optim.step()
local x = random(step, {5, M}, 3)
local y = matmul(x, w) + same
local loss = nn.mean((y * y):reshape{-1}, 1):reshape{}

local next = optim.adamw({w = w}, optim.gradients(loss, {w = w}), {lr = 0.01})
next.first, next.second = second + 0.5 * next.w, first
next.same = same * 1
next.late = 0.5 * late + matmul(w, w:transpose(1, 2))
next.shifted = concat({next.w:slice({0, 0}, {1, N}), shifted:slice({0, 0}, {M - 1, N})}, 1)
next.count = count + iota({3}, 1)
next.w = next.w + 0.001 * matmul(late, first) - 0.001 * shifted + 0.0001 * float(count:slice({2}, {1}))
next.step, next.loss = next_step, loss
return next
