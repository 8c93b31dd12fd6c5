-- run: attention whose result is stored as whole numbers
local q, k, v = input("q", {2, 3, 1, 2}), input("k", {2, 3, 8, 2}), input("v", {2, 3, 8, 3})
local s = matmul(q, transpose(k, 3, 4)) * 0.4
local e = exp(s - max(s, 4))
local y = matmul(e / sum(e, 4), v)
return {y = int(gt(y, 0.1))}
