-- Qwen2 and Qwen2.5 (Yang et al., 2024): a Llama with biases for Q, K and V.

local embedding, huggingface, llama = require "embedding", require "huggingface", require "llama"

local o = options(llama.options {
    model_type = {"qwen2"},
    use_sliding_window = false, sliding_window = 4096, max_window_layers = 28,
    use_mrope = {"false"}, mlp_bias = {"false"},
    layer_types = "", -- "sliding_attention,full_attention" and so on; "": as below
}, huggingface.keys({"attention_bias", "is_decoder"}, "attention"), huggingface.sizes)

local ids, n = embedding.ids(o)
local windows = huggingface.windows(o, function(layer)
    return o.use_sliding_window and layer >= o.max_window_layers
end)
return (llama.outputs(ids, n, o, {bias = true, windows = windows}))
