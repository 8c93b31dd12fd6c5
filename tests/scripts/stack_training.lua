-- A step of a training of GPT-2's body: dropout, clipping by the global norm, AdamW.
-- grads=true stops at the gradients of all parameters.
local nn, optim = require "nn", require "optim"
local gpt2, transformer = require "gpt2", require "transformer"
local o = options {
    B = 1, T = 16, n_layer = 12, n_embd = 48, n_head = 3, vocab = 50, grads = false,
}

local ids, target = input("ids", {o.B, o.T}, "i32"), input("target", {o.B, o.T}, "i32")
local step, next_step = optim.step()
local config = {n_head = o.n_head, layer_norm_epsilon = 1e-5, layout = "conv1d"}
local function block(x)
    return nn.dropout(gpt2.block(x, config), 0.1, step)
end

local x = scope("wte", nn.embedding, ids, o.vocab, o.n_embd)
    + param("wpe.weight", {o.T, o.n_embd}, {normal = 0.02})
x = nn.dropout(x, 0.1, step)
x = transformer.stack(x, "h", o.n_layer, block)
x = scope("ln_f", nn.layer_norm, x, {eps = 1e-5})
local loss = nn.cross_entropy(scope("lm_head", nn.linear, x, o.vocab, false), target)

local params = parameters()
local grads = optim.gradients(loss, params)
if o.grads then return grads end
local next = optim.adamw(params, optim.clip_grad_norm(grads, 1), {
    lr = optim.cosine_schedule(step, {lr = 1e-3, warmup = 10, steps = 100}),
    weight_decay = 0.1, decays = function(name, p) return p.rank > 1 end})
next.step, next.loss = next_step, loss
return next
