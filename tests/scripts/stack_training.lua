-- A step of a training of a GPT: dropout of embeddings, probabilities and branches, clipping by
-- the global norm, AdamW.
-- grads=true stops at the gradients of all parameters.
local nn, optim = require "nn", require "optim"
local attention, transformer = require "attention", require "transformer"
local o = options {
    B = 1, T = 16, n_layer = 12, n_embd = 48, n_head = 3, vocab = 50, grads = false,
}

local ids, target = input("ids", {o.B, o.T}, "i32"), input("target", {o.B, o.T}, "i32")
local step, next_step = optim.step()

local function drop(x)
    return nn.dropout(x, 0.1, step)
end

local function attend(x)
    local n = scope("ln_1", nn.layer_norm, x, {eps = 1e-5})
    return drop(scope("attn", attention.fused, n, {
        n_head = o.n_head, mask = attention.causal_mask(o.T), drop = drop,
        project = nn.linear, qkv_name = "c_attn", out_name = "c_proj"}))
end

local function feed_forward(x)
    local n = scope("ln_2", nn.layer_norm, x, {eps = 1e-5})
    return drop(scope("mlp", transformer.feed_forward, n, {
        d_ff = 4 * o.n_embd, act = nn.gelu_tanh,
        project = nn.linear, in_name = "c_fc", out_name = "c_proj"}))
end

local x = scope("wte", nn.embedding, ids, o.vocab, o.n_embd)
    + param("wpe.weight", {o.T, o.n_embd}, {normal = 0.02})
x = transformer.stack(drop(x), "h", o.n_layer, transformer.block, attend, feed_forward)
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
