-- What makes layers a transformer: feed-forward, residual connections, blocks, stacks.

local nn = require "nn"

local transformer = {}

-- FFN(x) = act(x W_1 + b_1) W_2 + b_2, position by position.
-- config: d_ff (the inner width), act, project = nn.linear or nn.conv1d, bias, and the
-- names of the two projections.
function transformer.feed_forward(x, config)
    local o = layer_options("transformer.feed_forward", config, {
        d_ff = "size", act = "function", project = {"function", nn.linear}, bias = {"boolean", true},
        in_name = "string", out_name = "string"})
    local inner = scope(o.in_name, o.project, x, o.d_ff, o.bias)
    local act = tap("act", o.act(inner))
    return (scope(o.out_name, o.project, act, x:size(-1), o.bias))
end

-- Returns an option, or `other` if the option was omitted.
local function either(option, other)
    if option == nil then return other end
    return option
end

-- The gated one: FFN(x) = glu(x W_gate, x W_up) W_down (Shazeer: GLU Variants Improve
-- Transformer, 2020).
-- config: d_ff, glu = nn.swiglu or nn.geglu, bias, down_bias (bias), and the names of the three
-- projections.
function transformer.gated_feed_forward(x, config)
    local o = layer_options("transformer.gated_feed_forward", config, {
        d_ff = "size", glu = "function", bias = {"boolean", true}, down_bias = "boolean?",
        gate_name = "string", up_name = "string", down_name = "string"})
    local gate = scope(o.gate_name, nn.linear, x, o.d_ff, o.bias)
    local up = scope(o.up_name, nn.linear, x, o.d_ff, o.bias)
    local act = tap("act", o.glu(gate, up))
    return (scope(o.down_name, nn.linear, act, x:size(-1), either(o.down_bias, o.bias)))
end

-- The same with one projection to gate and up together: the first half of its columns is the gate or,
-- with gate_last, the second one.
-- config: d_ff, glu, bias (of the first projection), out_bias (bias), gate_last, and the names of the
-- two projections.
function transformer.packed_feed_forward(x, config)
    local o = layer_options("transformer.packed_feed_forward", config, {
        d_ff = "size", glu = "function", bias = {"boolean", true}, out_bias = "boolean?",
        gate_last = {"boolean", false}, in_name = "string", out_name = "string"})
    local inner = scope(o.in_name, nn.linear, x, 2 * o.d_ff, o.bias)
    local first, second = narrow(inner, -1, 0, o.d_ff), narrow(inner, -1, o.d_ff, o.d_ff)
    if o.gate_last then first, second = second, first end
    local act = tap("act", o.glu(first, second))
    return (scope(o.out_name, nn.linear, act, x:size(-1), either(o.out_bias, o.bias)))
end

-- Returns x + f(x): a part of the model adds its result to the residual stream.
function transformer.residual(x, f)
    return x + f(x)
end

-- The pre-norm block: x + attention(norm(x)), then x + feed_forward(norm(x)).  Each of
-- the two functions normalises what it reads.
function transformer.block(x, attention, feed_forward)
    x = tap("attn_residual", transformer.residual(x, attention))
    return tap("ffn_residual", transformer.residual(x, feed_forward))
end

-- The post-norm block: norm_1(x + attention(x)), then norm_2(x + feed_forward(x))
-- (Vaswani et al.: Attention Is All You Need, 2017).
function transformer.post_norm_block(x, attention, norm_1, feed_forward, norm_2)
    x = tap("attn_residual", norm_1(transformer.residual(x, attention)))
    return tap("ffn_residual", norm_2(transformer.residual(x, feed_forward)))
end

-- The parallel block: x + attention(x) + feed_forward(x), which read the same x
-- (Wang, Komatsuzaki: GPT-J-6B, 2021).
function transformer.parallel_block(x, attention, feed_forward)
    return tap("ffn_residual", x + attention(x) + feed_forward(x))
end

-- Applies n blocks one after another, in the scopes name.0, name.1, ...
function transformer.stack(x, name, n, block, ...)
    if n < 1 then error("found a stack of " .. n .. " blocks, expected at least 1") end
    for i = 0, n - 1 do
        x = scope(name .. "." .. i, block, x, ...)
    end
    return x
end

return transformer
