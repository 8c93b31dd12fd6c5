-- A step of a training of GPT-2: cross-entropy, the gradients of all parameters, AdamW; no dropout, no clipping.
-- Parameters have the names of Hugging Face's files.  `make bench-peers PARTS=training` measures it.  B is the size of
-- a micro-batch, of which a step has micro_batches.

local nn, optim = require "nn", require "optim"
local gpt2 = require "gpt2"

local o = options {
    B = 4, T = 64, -- sequences, tokens
    vocab_size = 50257, n_positions = 1024, n_embd = 768, n_layer = 12, n_head = 12,
    lr = 1e-4, micro_batches = 1,
}

local ids, target = input("ids", {o.B, o.T}, "i32"), input("target", {o.B, o.T}, "i32")
prefix "transformer."
local x = scope("wte", nn.embedding, ids, o.vocab_size, o.n_embd, 0.02)
x = scope("wpe", nn.learned_positions, x, o.n_positions, 0.02)
local layer = {n_head = o.n_head, layer_norm_epsilon = 1e-5, layout = "conv1d"}
for i = 0, o.n_layer - 1 do
    x = scope("h." .. i, gpt2.block, x, layer, nil, nn.gelu_tanh, {scale = 1 / math.sqrt(o.n_embd / o.n_head)})
end
x = scope("ln_f", nn.layer_norm, x, {eps = 1e-5})
local logits = scope("wte", nn.tied_head, x, o.vocab_size, 0.02)
prefix ""

local params, loss = parameters(), nn.cross_entropy(logits, target)
local micro = optim.micro_batches(o.micro_batches)
local grads = micro.mean(optim.gradients(loss, params))
local next = optim.adamw(params, grads, {lr = o.lr, weight_decay = 0})
next.loss = micro.mean(loss, "loss")
return o.micro_batches > 1 and micro.step(next) or next
