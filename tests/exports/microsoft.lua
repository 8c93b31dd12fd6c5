-- microsoft.onnx, by fixtures, opset 17
local nn = require "nn"
local onnx_attention = require "onnx_attention"

local x = input("x", {2, 4}, "i32")
local mask = int(gt(x, 0))
local count = sum(int(eq(mask, 1)), 2, false)
local e_part = gather(param("c1", {8, 32}), x) + narrow(param("c2", {6, 32}), 1, 0, 4)
local e_part_2 = e_part - nn.mean(e_part, 3)
local e = e_part_2 * rsqrt(nn.mean(e_part_2 ^ 2, 3) + 1e-5) * param("c3", {32}) + param("c4", {32})
local a = onnx_attention.fused(e, param("c5", {32, 96}), param("c6", {96}), count, nil, nil,
    {num_heads = 2, unidirectional = 1})
local s_part = a + e + param("c9", {32})
local s_part_2 = s_part - nn.mean(s_part, 3)
local s = s_part_2 * rsqrt(nn.mean(s_part_2 ^ 2, 3) + 1e-12) * param("c7", {32}) + param("c8", {32})
local a2 = onnx_attention.fused(s, param("c10", {32, 96}), param("c11", {96}), mask, nil, nil,
    {num_heads = 2})
local q = matmul(s, param("constant", {32, 64}))
local g = onnx_attention.grouped(q, nil, nil, nil, nil, const(3, {2}, "i32"), param("c17", {8, 8}),
    param("c18", {8, 8}), nil, nil, {total_sequence_length = 4, do_rotary = 1, kv_num_heads = 1,
    num_heads = 2})
local gk = onnx_attention.grouped_keys(q, nil, nil, nil, nil, const(3, {2}, "i32"), param("c17", {8,
    8}), param("c18", {8, 8}), nil, nil, {total_sequence_length = 4, do_rotary = 1,
    kv_num_heads = 1, num_heads = 2})
local gv = onnx_attention.grouped_values(q, nil, nil, nil, nil, const(3, {2}, "i32"), param("c17",
    {8, 8}), param("c18", {8, 8}), nil, nil, {total_sequence_length = 4, do_rotary = 1,
    kv_num_heads = 1, num_heads = 2})
local last = narrow(s, 2, 3, 1)
local qlast = narrow(q, 2, 3, 1)
local n1 = onnx_attention.grouped(qlast, nil, nil, gk, gv, const({3, 4}, {2}, "i32"), param("c27",
    {8, 8}), param("c28", {8, 8}), nil, nil, {total_sequence_length = 5, do_rotary = 1,
    kv_num_heads = 1, local_window_size = 4, num_heads = 2})
local m = onnx_attention.multi_head(last, last, last, param("c29", {96}), nil, nil, param("c30", {2,
    2, 3, 16}), param("c31", {2, 2, 3, 16}), {num_heads = 2})
local f2 = matmul(matmul(a2, transpose(s, 2, 3)) * 0.2, g)
local y = concat({a + e + param("c9", {32}), g, f2, n1, m}, 2)
return {
    y = y,
}
