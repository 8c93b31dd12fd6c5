-- GPT-2 (Radford et al.: Language Models are Unsupervised Multitask Learners, 2019): ids to logits.
-- Names of options and parameters are Hugging Face's (GPT2LMHeadModel; the published files have no
-- `transformer.` before their names: --set name_prefix=):
--     crescent run graphs/gpt2.lua --config graphs/configs/gpt2-medium.lua --set T=64

local nn = require "nn"
local gpt2, huggingface = require "gpt2", require "huggingface"

local o = options({
    B = 1, T = 16, -- sequences, tokens
    model_type = {"gpt2"},
    vocab_size = 50257, n_positions = 1024, n_embd = 768, n_layer = 12, n_head = 12,
    n_inner = 0, -- 0: 4 n_embd
    activation_function = huggingface.activations("gelu_new"), layer_norm_epsilon = 1e-5,
    tie_word_embeddings = true,
    scale_attn_weights = true, scale_attn_by_inverse_layer_idx = false,
    add_cross_attention = {"false"}, position_embedding_type = {"absolute"},
    layout = {"conv1d", "linear"}, -- of weights: [in, out], as Hugging Face stores them, or [out, in]
    name_prefix = "transformer.", -- before every parameter's name but that of a head of its own
}, huggingface.keys({"is_decoder"}, true), huggingface.sizes)

prefix(o.name_prefix)
local ids = input("ids", {o.B, o.T}, "i32")
local x = scope("wte", nn.embedding, ids, o.vocab_size, o.n_embd, 0.02)
x = scope("wpe", nn.learned_positions, x, o.n_positions, 0.02)
local layer = {n_head = o.n_head, layer_norm_epsilon = o.layer_norm_epsilon, layout = o.layout}
for i = 0, o.n_layer - 1 do
    local scale = o.scale_attn_weights and 1 / math.sqrt(o.n_embd / o.n_head) or 1
    if o.scale_attn_by_inverse_layer_idx then scale = scale / (i + 1) end
    x = scope("h." .. i, gpt2.block, x, layer, o.n_inner > 0 and o.n_inner or nil,
        huggingface.activation(o.activation_function), {scale = scale})
end
x = scope("ln_f", nn.layer_norm, x, {eps = o.layer_norm_epsilon})

if o.tie_word_embeddings then
    return {logits = scope("wte", nn.tied_head, x, o.vocab_size, 0.02)}
end
prefix("")
return {logits = scope("lm_head", nn.linear, x, o.vocab_size, false)}
