-- Some steps of an optimiser on a small net, in one graph: the parameters at the end and the
-- loss of each step, to be held against PyTorch's.

local nn, optim = require "nn", require "optim"

local o = options {
    optimiser = {"sgd", "adam", "adamw"},
    loss = {"cross_entropy", "mse"},
    steps = 6,
    lr = {number = 0.1},
    momentum = {number = 0}, nesterov = false, -- of sgd
    weight_decay = {number = 0}, decay_matrices_only = false,
    clip = {number = 0},                       -- the largest norm of all gradients; 0: any
    warmup = -1,                               -- steps of a schedule over 5 steps; -1: none
}

local N, V, C, H = 9, 7, 6, 10
local ids = input("ids", {N}, "i32")
local target = input("target", {N}, "i32")
local params = {
    ["embed.weight"] = param("embed.weight", {V, C}, {normal = 1}),
    ["fc1.weight"] = param("fc1.weight", {H, C}, {uniform = 0.5}),
    ["fc1.bias"] = param("fc1.bias", {H}, {uniform = 0.5}),
    ["fc2.weight"] = param("fc2.weight", {V, H}, {uniform = 0.5}),
    ["fc2.bias"] = param("fc2.bias", {V}, {uniform = 0.5}),
}

local function linear(x, name)
    return matmul(x, params[name .. ".weight"]:transpose(1, 2)) + params[name .. ".bias"]
end

local function loss()
    local h = nn.gelu(linear(gather(params["embed.weight"], ids), "fc1"))
    local logits = linear(h, "fc2")
    if o.loss == "cross_entropy" then return nn.cross_entropy(logits, target) end
    return nn.mse_loss(logits, float(eq(iota({N, V}, 2), target:reshape{N, 1})))
end

local kept = {}
local function state(name, shape)
    return kept[name] or const(0, shape)
end

local function rate(step)
    if o.warmup < 0 then return o.lr end
    return optim.cosine_schedule(const(step, {}, "i32"),
        {lr = o.lr, min_lr = o.lr / 10, warmup = o.warmup, steps = 5})
end

local losses = {}
for step = 0, o.steps - 1 do
    local now = loss()
    local grads = optim.gradients(now, params)
    if o.clip > 0 then grads = optim.clip_grad_norm(grads, o.clip) end
    local is_sgd = o.optimiser == "sgd"
    local next = optim[o.optimiser](params, grads, {
        lr = rate(step), momentum = is_sgd and o.momentum or nil,
        nesterov = is_sgd and o.nesterov or nil, weight_decay = o.weight_decay, state = state,
        decays = o.decay_matrices_only and function(name, p) return p.rank > 1 end})
    for name, value in pairs(next) do
        if params[name] then params[name] = value else kept[name] = value end
    end
    table.insert(losses, now:reshape{1})
end

local all = {}
for _, p in pairs(params) do table.insert(all, p:reshape{-1}) end
return {params = concat(all, 1), losses = concat(losses, 1)}
