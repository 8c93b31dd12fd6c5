-- A GPT that sorts digits, of 3 layers, as its weights were saved: [out, in], and a head of its own.
local nn = require "nn"
local gpt2, huggingface = require "gpt2", require "huggingface"

local o = options {B = 1, T = 11, n_embd = 48, n_head = 3, n_layer = 3, vocab_size = 3, n_positions = 11}

local x = scope("wte", nn.embedding, input("ids", {o.B, o.T}, "i32"), o.vocab_size, o.n_embd, 0.02)
x = scope("wpe", nn.learned_positions, x, o.n_positions, 0.02)
local layer = {n_head = o.n_head, layer_norm_epsilon = 1e-5, layout = "linear"}
for i = 0, o.n_layer - 1 do
    x = scope("h." .. i, gpt2.block, x, layer, nil, huggingface.activation("gelu_new"))
end
x = scope("ln_f", nn.layer_norm, x, {eps = 1e-5})
return {logits = scope("lm_head", nn.linear, x, o.vocab_size, false)}
