-- Llama 1 to 3: ids to logits.  Names of options and parameters are Hugging Face's
-- (LlamaForCausalLM):
--     crescent run graphs/llama.lua --config graphs/configs/llama-3.2-1b.lua --set T=64
--     crescent run graphs/llama.lua --config config.json --weights model.safetensors --input ids=F.npy

local embedding, huggingface, llama = require "embedding", require "huggingface", require "llama"

local o = options(llama.options {
    model_type = {"llama"},
    attention_bias = false, mlp_bias = false,
}, huggingface.keys {"is_decoder"}, huggingface.sizes)

local ids, n = embedding.ids(o)
return (llama.outputs(ids, n, o, {
    bias = o.attention_bias, out_bias = o.attention_bias, mlp_bias = o.mlp_bias}))
