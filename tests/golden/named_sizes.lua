-- Sizes are named by what they come of: the tokens T and the width C are both 16, and so is 2 d.
local o = options {B = 2, T = 16, C = 16, heads = 2, more = 3}
local d = o.C / o.heads
local x = input("x", {o.B, o.T, o.C})
local qkv = matmul(x, param("qkv", {o.C, 3 * o.C}))

local function part(i)
    local y = slice(qkv, {0, 0, i * o.C}, {o.B, o.T, o.C})
    return permute(reshape(y, {o.B, o.T, o.heads, d}), {1, 3, 2, 4})
end
local s = matmul(part(0), part(1):transpose(-1, -2))
local e = exp(s - max(s, -1))
local y = permute(matmul(e / sum(e, -1), part(2)), {1, 3, 2, 4})
return {y = reshape(y, {o.B, o.T, o.C}) + x, wide = matmul(x, param("wide", {o.C, o.T + o.more}))}
