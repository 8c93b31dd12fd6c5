-- chunks: the sum over pairs of a rotation that stand side by side goes in the order of the row
local T, d = 6, 4
local x = gather(param("e", {4, d}), input("ids", {1, T}, "i32"))
local pairs_ = reshape(x, {1, T, d / 2, 2})
local a, b = narrow(pairs_, 4, 0, 1), narrow(pairs_, 4, 1, 1)
local w = reshape(float(iota({T, d / 2}, 1)), {1, T, d / 2, 1})
local k = reshape(concat({a * cos(w) - b * sin(w), a * sin(w) + b * cos(w)}, 4), {1, T, d})
k = k * rsqrt(sum(k ^ 2, 3) + 0.01)
local s = where(le(iota({T, T}, 2), iota({T, T}, 1)), matmul(x, transpose(k, 2, 3)), -math.huge)
local e = exp(s - max(s, -1))
return {logits = matmul(e / sum(e, -1), x)}
