-- A transformer decoder block: pre-norm, causal attention with fused QKV, exact GELU,
-- torch.nn.Linear weights [out, in].

local nn = require "nn"
local attention = require "attention"
local transformer = require "transformer"

local o = options {
    B = 2, T = 32, -- batch, tokens
    n_embd = 768, n_head = 12,
    n_positions = 1024, -- the most tokens
    dropout = 0.1, train = false, seed = 0, -- of what is dropped in training
    bias = true, -- of the Linears; layer norms always have theirs
}

if o.T > o.n_positions then error("T " .. o.T .. " is more than n_positions " .. o.n_positions) end

local function drop(x)
    return nn.dropout(x, o.dropout, o.train and o.seed)
end

-- The attention branch: out_proj(heads(qkv_proj(ln1(x)))).
local function attend(x)
    local n = scope("ln1", nn.layer_norm, x, {eps = 1e-5})
    local a = scope("attn", attention.fused, n, {
        n_head = o.n_head, mask = attention.causal_mask(o.T), drop = drop,
        project = nn.linear, bias = o.bias, qkv_name = "qkv_proj", out_name = "out_proj"})
    return (drop(a))
end

-- The feed-forward branch: fc2(gelu(fc1(ln2(x)))).
local function feed_forward(x)
    local n = scope("ln2", nn.layer_norm, x, {eps = 1e-5})
    local f = scope("ffn", transformer.feed_forward, n, {
        d_ff = 4 * o.n_embd, act = nn.gelu,
        project = nn.linear, bias = o.bias, in_name = "fc1", out_name = "fc2"})
    return (drop(f))
end

local x = input("x", {o.B, o.T, o.n_embd})
local y = transformer.block(x, attend, feed_forward)
return {y = y}
