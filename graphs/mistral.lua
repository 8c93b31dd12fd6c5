-- Mistral 7B (Jiang et al., 2023): a Llama in which a token sees a sliding window of those before it.

local llama, huggingface = require "llama", require "huggingface"

local o = options(llama.options {
    model_type = {"mistral"},
    sliding_window = 4096, -- 0: none
    layer_types = "",      -- "sliding_attention,full_attention" and so on; "": as below
}, huggingface.keys(), huggingface.sizes)

local ids = input("ids", {o.B, o.T}, "i32")
local windows = huggingface.windows(o, function(layer) return true end)
return {logits = llama.model(ids, o, {windows = windows})}
