-- The mean of the vectors of a text's tokens, without attention between them: StaticEmbedding of
-- sentence-transformers, and model2vec (Tulkens, van Dongen, 2024).  The file of weights has one table; its name and
-- its sizes are the options, as such a folder has no config.json.

local embedding = require "embedding"

local o = options {
    T = 512,
    vocab_size = 30522, hidden_size = 256,
    table = "embedding.weight",
    pooling = embedding.poolings, modules = "", normalize = false,
}

local n = embedding.is_whole{pooling = o.pooling, classes = 0, score = ""} and length("T", o.T) or o.T
local ids = input("ids", {1, n}, "i32")
local x = gather(param(o.table, {o.vocab_size, o.hidden_size}, {normal = 1}), ids)
if o.pooling == "none" then return {last_hidden_state = x} end
return {embedding = embedding.vector(x, n, o)}
