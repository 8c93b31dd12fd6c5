-- A pre-norm block of one's own, nothing from the library: as few kernels as GPT-2's.
local B, T, C, H = 2, 16, 32, 4
local function norm(x, name)
    local d = x - sum(x, -1) / C
    return d / sqrt(sum(d * d, -1) / C + 1e-5) * param(name .. ".g", {C}) + param(name .. ".b", {C})
end
local function linear(x, name, n)
    return matmul(x, param(name .. ".w", {x:size(-1), n})) + param(name .. ".b", {n})
end
local function heads(x, i)
    return x:slice({0, 0, i * C}, {B, T, C}):reshape{B, T, H, C / H}:permute{1, 3, 2, 4}
end
local x = input("x", {B, T, C})
local qkv = linear(norm(x, "n1"), "qkv", 3 * C)
local s = matmul(heads(qkv, 0), heads(qkv, 1):transpose(3, 4)) / math.sqrt(C / H)
s = where(ge(iota({T, T}, 1), iota({T, T}, 2)), s, -math.huge)
local e = exp(s - max(s, -1))
local a = matmul(e / sum(e, -1), heads(qkv, 2)):permute{1, 3, 2, 4}:reshape{B, T, C}
x = x + linear(a, "out", C)
local f = linear(norm(x, "n2"), "up", 4 * C)
return {y = x + linear(f / (1 + exp(-1.702 * f)), "down", C)}
