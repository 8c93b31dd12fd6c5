-- Attention to every key: one online kernel, without bounds, whatever the heads' layout.
local attention = require "attention"
local q, k, v = input("q", {2, 3, 10, 8}), input("k", {2, 3, 12, 8}), input("v", {2, 12, 24})
return {y = attention.merge_heads(attention.attend(q, k, attention.split_heads(v, 3)))}
