-- chunks: a mask by -1e30 that the ids may extend to each token of a query is refused, as the query then sees later tokens
local B, T, H, d = 2, 7, 2, 4
local C = H * d
local ids = input("ids", {B, T}, "i32")
local x = gather(param("e", {4, C}), ids)
local function heads(name)
    return permute(reshape(matmul(x, param(name, {C, C})), {B, T, H, d}), {1, 3, 2, 4})
end
local there = expand(reshape(ne(ids, 1), {B, 1, 1, T}), {B, H, T, T})
local own = eq(iota({B, H, T, T}, 3), iota({B, H, T, T}, 4))
local s = matmul(heads "q", permute(heads "k", {1, 2, 4, 3})) + where(logical_and(own, there), 0, -1e30)
local e = exp(s - max(s, 4))
local y = matmul(e / sum(e, 4), heads "v")
return {logits = reshape(permute(y, {1, 3, 2, 4}), {B, T, C})}
