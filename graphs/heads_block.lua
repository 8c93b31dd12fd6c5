-- A block whose attention heads have projections of their own, concatenated at the end:
-- pre-norm, causal, exact GELU, torch.nn.Linear weights [out, in].

local nn = require "nn"
local attention = require "attention"
local transformer = require "transformer"

local o = options {
    B = 2, T = 16, -- batch, tokens
    n_embd = 64, n_head = 4,
    block_size = 32, -- the most tokens
    dropout = 0.1, train = false, seed = 0, -- of what is dropped in training
}

if o.T > o.block_size then error("T " .. o.T .. " is more than block_size " .. o.block_size) end

local function drop(x)
    return nn.dropout(x, o.dropout, o.train and o.seed)
end

-- The attention branch: proj(concat(heads(ln1(x)))).
local function attend(x)
    local n = scope("ln1", nn.layer_norm, x, {eps = 1e-5})
    local a = scope("attn", attention.of_heads, n, {
        n_head = o.n_head, mask = attention.causal_mask(o.T), drop = drop})
    return (drop(a))
end

-- The feed-forward branch; its layers are items 0 and 2 of a torch.nn.Sequential.
local function feed_forward(x)
    local n = scope("ln2", nn.layer_norm, x, {eps = 1e-5})
    local f = scope("ff", transformer.feed_forward, n, {
        d_ff = 4 * o.n_embd, act = nn.gelu,
        project = nn.linear, in_name = "net.0", out_name = "net.2"})
    return (drop(f))
end

local x = input("x", {o.B, o.T, o.n_embd})
local y = transformer.block(x, attend, feed_forward)
return {y = y}
