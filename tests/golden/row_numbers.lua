-- Kernels that store numbers of rows are joined to the one after them: the statistics of a norm to each
-- other and to its result, which all read one array.
local nn = require "nn"

-- A norm whose result and statistics are stored: they are read by several kernels, or are outputs.
local function norm(x)
    local mean = nn.mean(x, 2)
    local d = x - mean
    local r = rsqrt(nn.mean(d * d, 2) + 1e-5)
    return d * r, mean, r
end
local out = {}

-- Joined: outputs, and values in the arena that two products read.
local a = input("a", {6, 40})
out.a, out.a_mean, out.a_r = norm(a)
local b, b_mean, b_r = norm(tanh(matmul(input("b", {6, 8}), param("w", {8, 48}))))
local twice = b * b_r
out.b1, out.b2 = matmul(twice, input("b1", {48, 4})), matmul(twice, input("b2", {48, 4}))
out.b3 = matmul(b_mean * b_r, input("b3", {1, 4}))

-- Rows that do not fit the first-level cache: the statistics alone are joined.
local c = input("c", {2, 6000})
out.c, out.c_mean, out.c_r = norm(c)
-- The sum reads an array that the second kernel does not read.
local d, e = input("d", {6, 44}), input("e", {6, 44})
local total = sum(d * e, 2, true)
out.d, out.d2 = exp(d) * total, total
return out
