-- A GPT block in the small: pre-norm, causal attention with fused QKV, exact GELU,
-- torch.nn.Linear weights [out, in].

local nn = require "nn"
local attention = require "attention"
local transformer = require "transformer"

local o = options {
    B = 1, T = 10, -- batch, tokens
    n_embd = 768, n_head = 12,
    bias = true, -- of the layer norms; the Linears always have theirs
}

local norm = {eps = 1e-5, bias = o.bias}

-- Communication: tokens look at each other.
local function attend(x)
    local n = scope("ln1", nn.layer_norm, x, norm)
    return (scope("attn", attention.fused, n, {
        n_head = o.n_head, mask = attention.causal_mask(o.T),
        project = nn.linear, qkv_name = "c_attn", out_name = "c_proj"}))
end

-- Thinking: each token by itself.
local function feed_forward(x)
    local n = scope("ln2", nn.layer_norm, x, norm)
    return (scope("mlp", transformer.feed_forward, n, {
        d_ff = 4 * o.n_embd, act = nn.gelu,
        project = nn.linear, in_name = "c_fc", out_name = "c_proj"}))
end

local x = input("x", {o.B, o.T, o.n_embd})
local y = transformer.block(x, attend, feed_forward)
return {y = y}
