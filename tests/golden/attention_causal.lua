-- A causal mask becomes a bound on the keys; whole blocks beyond it are skipped.
local attention = require "attention"
local q, k, v = input("q", {2, 200, 8}), input("k", {2, 200, 8}), input("v", {2, 200, 8})
return {y = attention.attend(q, k, v, attention.causal_mask(200))}
