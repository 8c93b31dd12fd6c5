-- microsoft.onnx, by fixtures, opset 17
local nn = require "nn"
local attention = require "attention"

local x = input("x", {2, 4}, "i32")
local mask = int(gt(x, 0))
local count = sum(int(eq(mask, 1)), 2, false)
local e_part = gather(param("c1", {8, 32}), x) + narrow(param("c2", {6, 32}), 1, 0, 4)
local e_part_2 = e_part - nn.mean(e_part, 3)
local e = e_part_2 * rsqrt(nn.mean(e_part_2 ^ 2, 3) + 1e-5) * param("c3", {32}) + param("c4", {32})
local a_part = matmul(e, param("c5", {32, 96})) + param("c6", {96})
local a = attention.merge_heads(matmul(nn.safe_softmax(where(le(iota({4, 4}, 2), iota({4, 4}, 1)),
    matmul(attention.split_heads(narrow(a_part, 3, 0, 32), 2),
    transpose(attention.split_heads(narrow(a_part, 3, 32, 32), 2), 3, 4)) * 0.25 + where(lt(iota({1,
    1, 1, 4}, 4), reshape(count, {2, 1, 1, 1})), const(0, {}, "f32"), const(-10000, {}, "f32")),
    -math.huge)), attention.split_heads(narrow(a_part, 3, 64, 32), 2)))
local s_part = a + e + param("c9", {32})
local s_part_2 = s_part - nn.mean(s_part, 3)
local s = s_part_2 * rsqrt(nn.mean(s_part_2 ^ 2, 3) + 1e-5) * param("c7", {32}) + param("c8", {32})
local a2_part = matmul(s, param("c10", {32, 96})) + param("c11", {96})
local a2 = attention.merge_heads(matmul(nn.safe_softmax(matmul(attention.split_heads(narrow(a2_part,
    3, 0, 32), 2), transpose(attention.split_heads(narrow(a2_part, 3, 32, 32), 2), 3,
    4)) * 0.25 + where(gt(reshape(mask, {2, 1, 1, 4}), 0), const(0, {}, "f32"), const(-10000, {},
    "f32"))), attention.split_heads(narrow(a2_part, 3, 64, 32), 2)))
local q = matmul(s, param("constant", {32, 64}))
local g_part = iota({2, 4}, 2)
local g_part_2 = gather(param("c17", {8, 8}), g_part)
local g_part_3 = reshape(g_part_2, {2, 1, 4, 8})
local g_part_4 = attention.split_heads(narrow(q, 3, 0, 32), 2)
local g_part_5 = narrow(g_part_4, 4, 0, 8)
local g_part_6 = gather(param("c18", {8, 8}), g_part)
local g_part_7 = reshape(g_part_6, {2, 1, 4, 8})
local g_part_8 = narrow(g_part_4, 4, 8, 8)
local g_part_9 = reshape(g_part_2, {2, 1, 4, 8})
local g_part_10 = attention.split_heads(narrow(q, 3, 32, 16), 1)
local g_part_11 = narrow(g_part_10, 4, 0, 8)
local g_part_12 = reshape(g_part_6, {2, 1, 4, 8})
local g_part_13 = narrow(g_part_10, 4, 8, 8)
local g = attention.merge_heads(matmul(nn.safe_softmax(where(le(iota({4, 4}, 2), iota({4, 4}, 1)),
    matmul(concat({g_part_3 * g_part_5 - g_part_7 * g_part_8,
    g_part_7 * g_part_5 + g_part_3 * g_part_8}, 4),
    transpose(reshape(expand(reshape(concat({g_part_9 * g_part_11 - g_part_12 * g_part_13,
    g_part_12 * g_part_11 + g_part_9 * g_part_13}, 4), {2, 1, 1, 4, 16}), {2, 1, 2, 4, 16}), {2, 2,
    4, 16}), 3, 4)) * 0.25, -math.huge)), reshape(expand(reshape(attention.split_heads(narrow(q, 3,
    48, 16), 1), {2, 1, 1, 4, 16}), {2, 1, 2, 4, 16}), {2, 2, 4, 16})))
local gk_part = iota({2, 4}, 2)
local gk_part_2 = reshape(gather(param("c17", {8, 8}), gk_part), {2, 1, 4, 8})
local gk_part_3 = attention.split_heads(narrow(q, 3, 32, 16), 1)
local gk_part_4 = narrow(gk_part_3, 4, 0, 8)
local gk_part_5 = reshape(gather(param("c18", {8, 8}), gk_part), {2, 1, 4, 8})
local gk_part_6 = narrow(gk_part_3, 4, 8, 8)
local gk = concat({gk_part_2 * gk_part_4 - gk_part_5 * gk_part_6,
    gk_part_5 * gk_part_4 + gk_part_2 * gk_part_6}, 4)
local gv = attention.split_heads(narrow(q, 3, 48, 16), 1)
local last = narrow(s, 2, 3, 1)
local qlast = narrow(q, 2, 3, 1)
local n1_part = narrow(param("c27", {8, 8}), 1, 3, 2)
local n1_part_2 = reshape(n1_part, {2, 1, 1, 8})
local n1_part_3 = attention.split_heads(narrow(qlast, 3, 0, 32), 2)
local n1_part_4 = narrow(n1_part_3, 4, 0, 8)
local n1_part_5 = narrow(param("c28", {8, 8}), 1, 3, 2)
local n1_part_6 = reshape(n1_part_5, {2, 1, 1, 8})
local n1_part_7 = narrow(n1_part_3, 4, 8, 8)
local n1_part_8 = reshape(n1_part, {2, 1, 1, 8})
local n1_part_9 = attention.split_heads(narrow(qlast, 3, 32, 16), 1)
local n1_part_10 = narrow(n1_part_9, 4, 0, 8)
local n1_part_11 = reshape(n1_part_5, {2, 1, 1, 8})
local n1_part_12 = narrow(n1_part_9, 4, 8, 8)
local n1 = attention.merge_heads(matmul(nn.safe_softmax(where(const({1, 1, 1, 1, 0, 0, 1, 1, 1, 1},
    {2, 1, 1, 5}, "bool"), matmul(concat({n1_part_2 * n1_part_4 - n1_part_6 * n1_part_7,
    n1_part_6 * n1_part_4 + n1_part_2 * n1_part_7}, 4),
    transpose(reshape(expand(reshape(gather(concat({gk,
    concat({n1_part_8 * n1_part_10 - n1_part_11 * n1_part_12,
    n1_part_11 * n1_part_10 + n1_part_8 * n1_part_12}, 4)}, 3), int(param("constant_2", {2, 1, 5,
    16})), 3), {2, 1, 1, 5, 16}), {2, 1, 2, 5, 16}), {2, 2, 5, 16}), 3, 4)) * 0.25, -math.huge)),
    reshape(expand(reshape(gather(concat({gv, attention.split_heads(narrow(qlast, 3, 48, 16), 1)},
    3), int(param("constant_3", {2, 1, 5, 16})), 3), {2, 1, 1, 5, 16}), {2, 1, 2, 5, 16}), {2, 2, 5,
    16})))
local m =
    attention.merge_heads(matmul(nn.softmax(matmul(attention.split_heads(last + narrow(param("c29",
    {96}), 1, 0, 32), 2), transpose(concat({param("c30", {2, 2, 3, 16}),
    attention.split_heads(last + narrow(param("c29", {96}), 1, 32, 32), 2)}, 3), 3, 4)) * 0.25),
    concat({param("c31", {2, 2, 3, 16}), attention.split_heads(last + narrow(param("c29", {96}), 1,
    64, 32), 2)}, 3)))
local f2 = matmul(matmul(a2, transpose(s, 2, 3)) * 0.2, g)
local y = concat({a + e + param("c9", {32}), g, f2, n1, m}, 2)
return {
    y = y,
}
