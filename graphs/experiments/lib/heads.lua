-- The block of heads_block.lua, with the norms where they are wanted.

local nn = require "nn"
local attention = require "attention"
local transformer = require "transformer"

local heads = {}

-- How a part of the block, a function, and the norm before or behind it are joined with the
-- residual stream x.
heads.arrangements = {
    pre = function(x, norm, part) return x + part(norm(x)) end,
    post = function(x, norm, part) return norm(x + part(x)) end, -- Vaswani et al., 2017
    none = function(x, norm, part) return part(norm(x)) end,     -- no residual connection
    bare = function(x, norm, part) return part(x) end,           -- and no norm
}

-- Attention, then feed-forward.
-- config: n_head, arrangement ("pre" if it is left out).
function heads.block(x, config)
    local join = heads.arrangements[config.arrangement or "pre"]
    local function norm(name)
        return function(x) return (scope(name, nn.layer_norm, x, {eps = 1e-5})) end
    end
    local function attend(x)
        return (scope("attn", attention.of_heads, x, {
            n_head = config.n_head, mask = attention.causal_mask(x:size(2))}))
    end
    local function feed_forward(x)
        return (scope("ff", transformer.feed_forward, x, {
            d_ff = 4 * x:size(-1), act = nn.gelu,
            project = nn.linear, in_name = "net.0", out_name = "net.2"}))
    end
    x = join(x, norm("ln1"), attend)
    return join(x, norm("ln2"), feed_forward)
end

return heads
