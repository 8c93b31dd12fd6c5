-- Qwen3 (Yang et al., 2025): a Llama whose queries and keys are normalised, head by head.

local embedding, huggingface, llama = require "embedding", require "huggingface", require "llama"

local o = options(llama.options {
    model_type = {"qwen3"},
    head_dim = 128, attention_bias = false,
    use_sliding_window = false, sliding_window = 4096, max_window_layers = 28,
    layer_types = "", -- "sliding_attention,full_attention" and so on; "": as below
}, huggingface.keys {"is_decoder"}, huggingface.sizes)

local ids, n = embedding.ids(o)
local windows = huggingface.windows(o, function(layer)
    return o.use_sliding_window and layer >= o.max_window_layers
end)
return (llama.outputs(ids, n, o, {
    bias = o.attention_bias, out_bias = o.attention_bias, qk_norm = true, windows = windows}))
