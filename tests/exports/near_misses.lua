-- near_misses.onnx, by pytorch, opset 17
local nn = require "nn"

local x = input("x", {2, 6, 16})
local mul = x * 0.5
local mul_1 = mul * (erf(x / 1.5) + 1)
local tanh_2 = tanh((x + x ^ 3 * 0.05) * 0.7978846)
local mul_4 = mul * (tanh_2 + 1)
local mul_6 = x * sigmoid(x * 1.7)
local mul_7 = x * sigmoid(mul_1)
local pow_1 = x ^ 2
local mul_8 = x * (1 / sqrt(nn.mean(pow_1, 2) + 1e-5))
local div_2 = (x - nn.mean(x, 3)) / sqrt(nn.mean(pow_1, 3) + 1e-5)
local mul_10 = matmul(x, transpose(x, 2, 3)) * 0.3
local matmul_2 = matmul(transpose(nn.softmax(transpose(mul_10, 2, 3)), 2, 3), x)
local concat_2 = concat({narrow(x, 3, 8, 8), narrow(x, 3, 0, 8)}, 3)
local add_6 = x * cos(x) + concat_2 * sin(x)
local mul_9 = param("weight", {16}) * mul_8
local matmul_1 = matmul(nn.softmax(mul_10 + param("Constant_13_output_0", {6, 6})), x)
local y = concat({mul_1, mul_4, mul_6, mul_7, mul_9, div_2, matmul_1, matmul_2, add_6}, 3)
return {
    y = y,
}
