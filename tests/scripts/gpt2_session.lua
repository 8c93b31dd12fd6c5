-- GPT-2 for the next n tokens of a text, with keys and values of those before in states, written out: what
-- crescent generate takes as it is.  Parameters are those of graphs/gpt2.lua.
local nn, attention, transformer = require "nn", require "attention", require "transformer"
local o = options {
    B = 1, context = 64, chunk = 16, -- texts, positions, tokens at a time
    vocab_size = 96, n_embd = 32, n_layer = 2, n_head = 4, layer_norm_epsilon = 1e-5,
}
local B, H, C, context = o.B, o.n_head, o.n_embd, o.context
local n, at = length("n", o.chunk), state("at", {}, "i32")
local ids = input("ids", {B, n}, "i32")
replace(at, at + n)

-- Row i of the new ones sees the rows up to at + i.
local seen = le(iota({o.chunk, context}, 2), iota({o.chunk, context}, 1) + at)
local norm = {eps = o.layer_norm_epsilon}

local function cached(name, rows)
    local cache = state(name, {B, H, context, C / H})
    local all = write(cache, rows, at, 3)
    replace(cache, all)
    return all
end

local function attend(x)
    local qkv = scope("c_attn", nn.conv1d, x, 3 * C)
    local function part(i) return attention.split_heads(qkv:slice({0, 0, i * C}, {B, o.chunk, C}), H) end
    local keys, values = cached("keys", part(1)), cached("values", part(2))
    local y = attention.attend(part(0), keys, values, seen)
    return (scope("c_proj", nn.conv1d, attention.merge_heads(y), C))
end

local function block(x)
    return transformer.block(x,
        function(x) return (scope("attn", attend, (scope("ln_1", nn.layer_norm, x, norm)))) end,
        function(x)
            return (scope("mlp", transformer.feed_forward, (scope("ln_2", nn.layer_norm, x, norm)), {
                d_ff = 4 * C, act = nn.gelu_tanh, project = nn.conv1d,
                in_name = "c_fc", out_name = "c_proj"}))
        end)
end

prefix("transformer.")
local positions = iota({o.chunk}, 1) + at
local x = scope("wte", nn.embedding, ids, o.vocab_size, C, 0.02)
    + gather(param("wpe.weight", {context, C}, {normal = 0.02}), positions)
for i = 0, o.n_layer - 1 do x = scope("h." .. i, block, x) end
x = scope("ln_f", nn.layer_norm, x, norm)
return {logits = scope("wte", nn.tied_head, x, o.vocab_size, 0.02)}
