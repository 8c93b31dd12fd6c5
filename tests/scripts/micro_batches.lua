-- A step of AdamW over micro-batches; or, as one graph, all steps with every micro-batch written
-- out and added along the same tree: the same bits, to be held against PyTorch's.

local nn, optim = require "nn", require "optim"

local o = options {
    what = {"step", "unrolled", "params"}, -- for `crescent train`; for `crescent run`; the parameters
    micro_batches = 4, steps = 20, dropout = {number = 0}, validation = false,
    N = 9, C = 6, H = 10, -- examples of a micro-batch, widths
}

local V = 7
local params = {
    ["embed.weight"] = param("embed.weight", {V, o.C}, {normal = 1}),
    ["fc1.weight"] = param("fc1.weight", {o.H, o.C}, {uniform = 0.5}),
    ["fc1.bias"] = param("fc1.bias", {o.H}, {uniform = 0.5}),
    ["fc2.weight"] = param("fc2.weight", {V, o.H}, {uniform = 0.5}),
    ["fc2.bias"] = param("fc2.bias", {V}, {uniform = 0.5}),
}

local function linear(x, name)
    return matmul(x, params[name .. ".weight"]:transpose(1, 2)) + params[name .. ".bias"]
end

local function loss_of(ids, target, number)
    local h = nn.gelu(linear(gather(params["embed.weight"], ids), "fc1"))
    return nn.cross_entropy(linear(nn.dropout(h, o.dropout, number), "fc2"), target)
end

local function update(grads, step, state)
    local clipped = optim.clip_grad_norm(grads, 0.5)
    return optim.adamw(params, clipped, {
        lr = optim.cosine_schedule(step, {lr = 0.05, warmup = 3, steps = 20}), weight_decay = 0.1,
        decays = function(name, p) return p.rank > 1 end, state = state})
end

local function all()
    local list = {}
    for _, p in pairs(params) do table.insert(list, p:reshape{-1}) end
    return concat(list, 1)
end

local function train()
    local ids, target = input("ids", {o.N}, "i32"), input("target", {o.N}, "i32")
    local step, next_step = optim.step()
    local micro = optim.micro_batches(o.micro_batches)
    local loss = loss_of(ids, target, not o.validation and micro.number(step) or nil)
    local next = update(micro.mean(optim.gradients(loss, params)), step)
    next.step, next.loss = next_step, micro.mean(loss, "loss")
    return micro.step(next)
end

-- The sum of the tables first .. first + n - 1: of the largest power of two below n, and of the rest.
local function tree(leaves, first, n)
    if n == 1 then return leaves[first] end
    local left = 1
    while 2 * left < n do left = 2 * left end
    local a, b, sums = tree(leaves, first, left), tree(leaves, first + left, n - left), {}
    for name, value in pairs(a) do sums[name] = value + b[name] end
    return sums
end

local function unrolled()
    local shape, kept, losses = {o.steps * o.micro_batches, o.N}, {}, {}
    local ids, target = input("ids", shape, "i32"), input("target", shape, "i32")
    local first = input("step", {}, "i32", {fill = 0}) -- no constants, which are folded in double precision
    local function state(name, shape) return kept[name] or input(name, shape, "f32", {fill = 0}) end
    for step = 0, o.steps - 1 do
        local leaves = {}
        for i = 0, o.micro_batches - 1 do
            local row = step * o.micro_batches + i
            local function of(data) return data:slice({row, 0}, {1, o.N}):reshape{o.N} end
            local loss = loss_of(of(ids), of(target))
            leaves[i + 1] = optim.gradients(loss, params)
            leaves[i + 1].loss = loss
        end
        local means = tree(leaves, 1, o.micro_batches)
        if o.micro_batches > 1 then
            for name, value in pairs(means) do means[name] = value / o.micro_batches end
        end
        table.insert(losses, means.loss:reshape{1})
        means.loss = nil
        for name, value in pairs(update(means, first + step, state)) do
            if params[name] then params[name] = value else kept[name] = value end
        end
    end
    return {params = all(), losses = concat(losses, 1)}
end

if o.what == "step" then return train() end
return o.what == "unrolled" and unrolled() or {params = all()}
