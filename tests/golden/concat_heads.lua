-- Heads with projections of their own: one wide product, each head into its part of the concat.
local attention = require "attention"
local x = input("x", {1, 6, 8})
return {y = attention.of_heads(x, {n_head = 2, mask = attention.causal_mask(6)})}
