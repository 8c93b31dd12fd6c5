-- chunks: a product that one sum of the logits reads is part of that sum, although outputs beside the logits are the product, or read it
local B, T, C = 2, 11, 12
local x = gather(param("e", {7, C}), input("ids", {B, T}, "i32"))
local function project(of, name, n) return matmul(of, param(name, {C, n})) end
local p, q = project(x, "u", C) * tanh(project(x, "v", C)), sin(x) * project(x, "w", C)
local hidden = x + p
return {
    logits = project(tanh(hidden) + q, "o", 7), hidden = hidden,
    product = p, head = project(q, "h", 3), shifted = q + 0.37,
}
