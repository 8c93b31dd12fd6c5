-- Attention of graphs/lib in ways that no model of graphs/ has.
local nn, attention, masks, rotary = require "nn", require "attention", require "masks", require "rotary"

local o = options {
    B = 2, T = 9, n_embd = 20, n_head = 6, n_kv_head = 2, head_size = 6,
    variant = {"alibi", "interleaved", "unseen"},
}
local T = o.T

local config = {
    n_head = o.n_head, n_kv_head = o.n_kv_head, head_size = o.head_size, mask = masks.causal(T),
    bias = false, out_bias = true,
    names = {q = "q", k = "k", v = "v", out = "out"},
}
if o.variant == "alibi" then
    config.how = {bias = masks.alibi(o.n_head, T)}
elseif o.variant == "interleaved" then -- of the first four numbers of a head
    local angles = rotary.angles(T, rotary.linear(rotary.frequencies(4, 100), 2))
    config.position = function(x) return (rotary.interleaved(x, angles)) end
    config.mask, config.how = masks.sliding_window(T, 4), {soft_cap = 0.5, scale = 0.7}
else -- the first two queries see nothing
    config.mask = logical_and(config.mask, ge(iota({T, T}, 2), 2))
    config.how = {softmax = nn.safe_softmax}
end

local x = input("x", {o.B, T, o.n_embd})
return {y = attention.separate(x, config)}
