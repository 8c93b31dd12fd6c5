-- A whole GPT in the size of your choice, to count its parameters: a table of token
-- embeddings, the blocks of heads_block.lua, and a head of its own (not tied to the
-- embeddings, without bias) that gives the logits.  No positions, no norm at the end.

local nn = require "nn"
local transformer = require "transformer"
local heads = require "heads"

local o = options {
    B = 1, T = 16, -- batch, tokens
    n_layer = 2, n_embd = 64, n_head = 4,
    vocab_size = 65,
}

local x = scope("emb", nn.embedding, input("tokens", {o.B, o.T}, "i32"), o.vocab_size, o.n_embd)
x = transformer.stack(x, "blocks", o.n_layer, heads.block, {n_head = o.n_head})
local logits = scope("head", nn.linear, x, o.vocab_size, false)
return {logits = logits}
