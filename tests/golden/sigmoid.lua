-- What consists of sigmoids: GELU by tanh, SiLU spelled out; powers of two come to the front.
local x = input("x", {4, 8})
local gelu = 0.5 * x * (1 + tanh(0.79788456 * (x + 0.044715 * x ^ 3)))
local silu = x / (1 + exp(-x))
local both = (2 * x) * (0.25 * tanh(x))
return {gelu = gelu, silu = silu, both = both}
