-- Which token's output depends on which token's input: the norm of the gradient of output t
-- (the sum of its elements) by input s, for every t and s, divided by the root of n_embd.
--
-- Outputs, [T, T], a row an output: `block` the whole block, `feed_forward` its second half,
-- `highway` the block when only the residual connections pass gradients.

local nn = require "nn"
local attention = require "attention"
local transformer = require "transformer"
local statistics = require "statistics"

local o = options {T = 6, n_embd = 64, n_head = 4, mask = {"causal", "none"}}

local mask = o.mask == "causal" and attention.causal_mask(o.T) or nil

local function attend(x)
    local n = scope("ln1", nn.layer_norm, x, {eps = 1e-5})
    return (scope("attn", attention.fused, n, {
        n_head = o.n_head, mask = mask,
        project = nn.linear, qkv_name = "c_attn", out_name = "c_proj"}))
end

local function feed_forward(x)
    local n = scope("ln2", nn.layer_norm, x, {eps = 1e-5})
    return (scope("mlp", transformer.feed_forward, n, {
        d_ff = 4 * o.n_embd, act = nn.gelu,
        project = nn.linear, in_name = "c_fc", out_name = "c_proj"}))
end

-- A branch that computes the same, but that no gradient enters.
local function closed(branch)
    return function(x) return detach(branch(x)) end
end

-- [T, T]: row t has the norms, a token of x each, of the gradient of y's token t.
local function dependence(y, x)
    local rows = {}
    for t = 0, o.T - 1 do
        local g = grad(statistics.total(y:slice({0, t, 0}, {1, 1, o.n_embd})), {x})[1]
        rows[t + 1] = sqrt(sum(g ^ 2, -1) / o.n_embd):reshape{1, o.T}
    end
    return concat(rows, 1)
end

local x = input("x", {1, o.T, o.n_embd})

return {
    block = dependence(transformer.block(x, attend, feed_forward), x),
    feed_forward = dependence(transformer.residual(x, feed_forward), x),
    highway = dependence(transformer.block(x, closed(attend), closed(feed_forward)), x),
}
