-- Operators of ONNX, as import calls them: both Luas have to make the same graph of them.
local onnx = require "onnx"
local onnx_attention = require "onnx_attention"
local onnx_conv = require "onnx_conv"
local onnx_math = require "onnx_math"
local onnx_norm = require "onnx_norm"
local onnx_pictures = require "onnx_pictures"
local onnx_recurrent = require "onnx_recurrent"
local onnx_signal = require "onnx_signal"

local x = input("x", {2, 4, 6, 6})
local i = input("i", {2, 6}, "i32")
local grid = input("grid", {2, 3, 3, 2})
local w = param("w", {4, 2, 3, 3})
local row = param("row", {4})

local y = onnx_conv.conv(x, w, row, {group = 2, auto_pad = "SAME_LOWER", strides = {2, 2}})
local up = onnx_conv.conv_transpose(y, w, nil, {group = 2, pads = {1, 0, 1, 0}, strides = {2, 3}})
local hidden = onnx_math.hard_swish(onnx_norm.group(y, row, row, {num_groups = 2, epsilon = 1e-3}))
return {
    up = onnx_math.shrink(onnx_math.asin(up), {lambd = 0.1, bias = 0.2}),
    mean = onnx_conv.average_pool(x, {kernel_shape = {3, 2}, pads = {1, 0, 1, 1}, ceil_mode = 1, strides = {2, 2}}),
    waves = onnx_signal.dft(onnx_signal.dft(x:reshape {2, 24, 6, 1}, {axis = 1, onesided = 1, version = 17}),
        {inverse = 1, onesided = 1, axis = 1, dft_length = 20}),
    spectrum = onnx_signal.stft(reshape(x, {2, 144}), row, {frame_step = 3}),
    filters = onnx_signal.mel_weight_matrix({bins = 3, length = 16, rate = 8000, low = 20, high = 3900}),
    top = onnx_conv.max_pool(hidden, {kernel_shape = {2, 2}}),
    where_top = onnx_conv.max_pool_index(hidden, {kernel_shape = {2, 2}, storage_order = 1}),
    nearest = onnx_pictures.resize(x, {scales = {1, 1, 0.6, 2}, nearest_mode = "ceil"}),
    cubic = onnx_pictures.resize(x, {sizes = {7, 4}, axes = {2, 3}, mode = "cubic", antialias = 1, cubic_coeff_a = -0.3}),
    cropped = onnx_pictures.resize(x, {sizes = {5, 5}, axes = {-2, -1}, roi = {0.1, 0.2, 1.3, 0.9}, mode = "linear",
        coordinate_transformation_mode = "tf_crop_and_resize", extrapolation_value = 7}),
    sampled = onnx_pictures.grid_sample(x, grid, {mode = "cubic", padding_mode = "reflection"}),
    cells = onnx_recurrent.lstm_c(reshape(x, {8, 6, 6}), param("gates", {2, 16, 6}), param("again", {2, 16, 4}), nil, nil,
        param("h", {2, 6, 4}), nil, nil, {direction = "bidirectional", input_forget = 1, clip = 2,
            activations = {"HardSigmoid", "Softsign", "Elu", "sigmoid", "Relu", "ScaledTanh"}, activation_alpha = {0.3, 2}}),
    attended = onnx_attention.attention(x, x, x, ne(narrow(narrow(i, 1, 0, 1), 2, 0, 5), 0), nil, nil,
        int(narrow(row, 1, 0, 2)),
        {left_window_size = 2, softcap = 3}),
    grouped = onnx_attention.grouped(reshape(x, {2, 6, 24}), nil, nil, x:narrow(2, 0, 1), x:narrow(2, 1, 1), narrow(i, 2, 0, 1),
        param("cos", {12, 2}), param("sin", {12, 2}), nil, nil, {num_heads = 2, kv_num_heads = 1, do_rotary = 1,
            rotary_interleaved = 1, total_sequence_length = 8, local_window_size = 4}),
    packed = onnx_attention.fused(reshape(x, {2, 6, 24}), param("qkv", {24, 72}), nil, i, nil, nil,
        {num_heads = 3, unidirectional = 1}),
    steps = onnx_attention.linear_state(w:reshape {4, 2, 9}, w:reshape {4, 2, 9}, w:reshape {4, 2, 9}, nil,
        nil, param("beta", {4, 2, 1}), {q_num_heads = 3, kv_num_heads = 3, update_rule = "delta"}),
    lrn = onnx_norm.lrn(x, {size = 3, alpha = 1e-3}),
    bits = onnx.bitwise_xor(onnx.bit_shift(i, i, {direction = "RIGHT"}), onnx.bitwise_not(i), {type = "int8"}),
    window = onnx.blackman_window {size = 9, periodic = 0},
    det = onnx.det(narrow(narrow(x, 3, 0, 3), 4, 1, 3)),
    blocks = onnx.depth_to_space(x, {blocksize = 2, mode = "CRD"}),
    products = onnx.cum_prod(x, {axis = -1, exclusive = 1, reverse = 1}),
}
