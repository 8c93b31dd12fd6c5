-- chunks: the attention of the last token alone was a product, and its output the scores of another attention
local B, T, C, N = 1, 37, 6, 9
local ids = input("ids", {B, T}, "i32")
local x = matmul(gather(param("table", {12, C}), ids), param("first", {C, C}))
local q, k, v = matmul(x, param("q_s3", {C, C})), matmul(x, param("k_s3", {C, C})), matmul(x, param("v_s3", {C, C}))
local sees = ge(iota({T, T}, 1), iota({T, T}, 2))
local s = where(sees, matmul(q, k:transpose(-2, -1)), -math.huge)
local e = exp(s - max(s, -1))
local y = x + matmul(e / sum(e, -1), v)
local head = param("head_s3", {C, N}) + matmul(param("down_s3", {C, 2}), param("up_s2", {2, N}))
return {logits = matmul(y, head)}
