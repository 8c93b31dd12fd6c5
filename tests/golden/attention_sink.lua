-- One score more that no value belongs to, under the largest of both: attention keeps it.
local q, k, v = input("q", {2, 4, 6, 8}), input("k", {2, 4, 6, 8}), input("v", {2, 4, 6, 8})
local sink = expand(reshape(param("sink", {4}), {1, 4, 1, 1}), {2, 4, 6, 1})
local scores = matmul(q, k:transpose(3, 4)) * 0.25
local m = maximum(max(scores, -1), sink)
local e = exp(scores - m)
return {y = matmul(e / (sum(e, -1) + exp(sink - m)), v)}
