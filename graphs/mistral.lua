-- Mistral 7B (Jiang et al., 2023): a Llama in which a token sees a sliding window of those before it.

local embedding, huggingface, llama = require "embedding", require "huggingface", require "llama"

local o = options(llama.options {
    model_type = {"mistral"},
    sliding_window = 4096, -- 0: none
    layer_types = "",      -- "sliding_attention,full_attention" and so on; "": as below
}, huggingface.keys {"is_decoder"}, huggingface.sizes)

local ids, n = embedding.ids(o)
local windows = huggingface.windows(o, function(layer) return true end)
return (llama.outputs(ids, n, o, {windows = windows}))
