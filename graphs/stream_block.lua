-- The textbook's block, seen as a residual stream to which attention and feed-forward
-- add: every token sees every token, ReLU, and layer norm divides by sigma alone.

local nn = require "nn"
local attention = require "attention"
local transformer = require "transformer"

local o = options {
    B = 1, T = 128, -- batch, tokens
    n_embd = 512, n_head = 8,
    d_ff = 2048, -- the inner width of the feed-forward layer
}

-- t1 = LayerNorm(x); t2 = MultiHeadAttention(t1); t3 = t2 + x
local function attend(x)
    local t1 = scope("ln1", nn.layer_norm, x, {})
    return (scope("attn", attention.fused, t1, {
        n_head = o.n_head, project = nn.linear, qkv_name = "qkv_proj", out_name = "out_proj"}))
end

-- t4 = LayerNorm(t3); t5 = FFN(t4); h = t5 + t3
local function feed_forward(x)
    local t4 = scope("ln2", nn.layer_norm, x, {})
    return (scope("ffn", transformer.feed_forward, t4, {
        d_ff = o.d_ff, act = nn.relu,
        project = nn.linear, in_name = "fc1", out_name = "fc2"}))
end

local x = input("x", {o.B, o.T, o.n_embd})
local y = transformer.block(x, attend, feed_forward)
return {y = y}
