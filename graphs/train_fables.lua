-- A small Llama that learns to tell fables, from ids that tests/train_fables.sh makes of stories of
-- our own: `make train-fables`.  What came of it is the folder graphs/fables.
--
--     crescent train graphs/train_fables.lua --input ids=ids.npy --save model.safetensors
--
-- Its names and sizes are those of graphs/fables/config.json.

local nn, optim = require "nn", require "optim"
local llama = require "llama"

local o = options(llama.options {
    B = 16, T = 256, -- sequences at a time, tokens that the model reads of each
    vocab_size = 512, hidden_size = 64, intermediate_size = 80, num_hidden_layers = 4,
    num_attention_heads = 4, num_key_value_heads = 2, rms_norm_eps = 1e-5,
    tie_word_embeddings = true,
    steps = 3000, lr = {number = 0.004}, warmup = 100,
    validation = false,
})

-- A sequence has one id more than is read, the last one that is to be foretold.
local ids = input("ids", {o.B, o.T + 1}, "i32")
local logits = llama.model(ids:slice({0, 0}, {o.B, o.T}), o, {})
local loss = scope("loss", nn.cross_entropy, logits, ids:slice({0, 1}, {o.B, o.T}))
if o.validation then return {loss = loss} end

local step, next_step = optim.step()
local params = parameters()
local grads = scope("clip", optim.clip_grad_norm, optim.gradients(loss, params), 1)
local lr = optim.cosine_schedule(step, {lr = o.lr, min_lr = 0.05 * o.lr, warmup = o.warmup, steps = o.steps})
local next = optim.adamw(params, grads, {lr = lr, betas = {0.9, 0.95}, weight_decay = 0.1,
    decays = function(name, p) return p.rank > 1 end})
next.step, next.loss, next.lr = next_step, loss, lr
next.tokens = const(o.B * o.T, {}, "i32")
return next
