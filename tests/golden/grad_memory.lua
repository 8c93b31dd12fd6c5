-- Attention to a memory that is constant: the gradient of the queries alone comes from the kernel
-- that makes those of keys and values, too.
local attention = require "attention"
local x, memory = input("x", {2, 10, 24}), input("memory", {2, 140, 24})
local k, v = attention.split_heads(memory, 3), attention.split_heads(tanh(memory), 3)
local y = attention.merge_heads(attention.attend(attention.split_heads(x, 3), k, v))
return {y = y, d = grad(sum((y * y):reshape{-1}, 1):reshape{}, {x})[1]}
