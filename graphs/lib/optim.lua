-- Optimisers: what the parameters are after a step, as more of the same graph.
--
-- A training step is one graph.  What it returns under the name of a parameter or an input
-- is the value for the next step; an optimiser's own state is inputs that start at zero:
--     local params = parameters()
--     local grads = optim.clip_grad_norm(optim.gradients(loss, params), 1)
--     local next = optim.adamw(params, grads, {lr = 3e-4})
--     next.loss = loss
--     return next
--
-- params, grads and what is returned are tables of tensors by name.  A learning rate is a
-- number or a tensor of one element.

local optim = {}

-- Returns dL/d(parameter) for each parameter in a table.
function optim.gradients(loss, params)
    local names, list = {}, {}
    for name, p in pairs(params) do
        table.insert(names, name)
        table.insert(list, p)
    end
    local grads = {}
    for i, g in ipairs(grad(loss, list)) do grads[names[i]] = g end
    return grads
end

-- A step over n micro-batches, which adds their gradients: a larger batch in the same memory.
--     local micro = optim.micro_batches(o.micro_batches)
--     local grads = micro.mean(optim.gradients(loss, params))
--     local next = optim.adamw(params, grads, {lr = 3e-4})
--     next.step, next.loss = next_step, micro.mean(loss, "loss")
--     return micro.step(next)
-- Inputs, loss and gradients are those of one micro-batch.  micro.mean(values, name) is the
-- mean over all of a tensor, or of each tensor of a table by name; the sum goes along a binary
-- tree that depends on n only.  micro.number(step) is the number of the micro-batch since
-- the training began, an i32 scalar: what `random` and `nn.dropout` draw by.  micro.step(next)
-- is what the script returns: the entry micro_batch, which runs n times, and the entry update, which
-- runs once.  With n = 1 it is `next`, and means are the tensors themselves.
function optim.micro_batches(n)
    if type(n) ~= "number" or n % 1 ~= 0 or n < 1 or n > 65536 then
        error("optim.micro_batches: found " .. tostring(n) .. ", expected a whole number from 1 to 65536")
    end
    local micro, values = {}, {}
    local function mean(value, name)
        if n == 1 then return value end
        values[name] = value
        return input("sum." .. name, value.shape) / n
    end
    function micro.mean(of, name)
        if name then return mean(of, name) end
        local means = {}
        for key, value in pairs(of) do means[key] = mean(value, key) end
        return means
    end
    function micro.number(step)
        if n == 1 then return step end
        return step * n + input("micro_batch", {}, "i32", {fill = 0})
    end
    function micro.step(next)
        if n == 1 then return next end
        local update = {micro_batches = const(n, {}, "i32")}
        for name, value in pairs(next) do update[name] = value end
        return {micro_batch = values, update = update}
    end
    return micro
end

-- Returns the square root of the sum of the squares of all gradients, a scalar.
function optim.grad_norm(grads)
    local total
    for _, g in pairs(grads) do
        g = g:reshape{-1}
        local squares = sum(g * g, 1):reshape{}
        total = total and total + squares or squares
    end
    return sqrt(total)
end

-- Returns the gradients, scaled so that their total norm is at most max_norm, and the norm before (Pascanu,
-- Mikolov, Bengio: On the Difficulty of Training Recurrent Neural Networks, 2013).
function optim.clip_grad_norm(grads, max_norm)
    local norm = optim.grad_norm(grads)
    local scale = minimum(max_norm / (norm + 1e-6), 1)
    local clipped = {}
    for name, g in pairs(grads) do clipped[name] = g * scale end
    return clipped, norm
end

-- Returns an input that is filled with zeros at first.
local function zeros(name, shape)
    return input(name, shape, "f32", {fill = 0})
end

-- Returns the weight decay of a parameter: the same for all, but 0 if config.decays(name, p) is false.
local function decay_of(o, name, p)
    if o.decays and not o.decays(name, p) then return 0 end
    return o.weight_decay
end

-- Stochastic gradient descent, as torch.optim.SGD:
--     g = g + weight_decay p;  b = momentum b + g;  p = p - lr b
-- (with nesterov: p - lr (g + momentum b)).  The state is sgd.NAME.
-- config: lr, momentum, weight_decay, nesterov, decays, state.
function optim.sgd(params, grads, config)
    local o = layer_options("optim.sgd", config, {
        lr = "number|tensor", momentum = {"number", 0}, weight_decay = {"number", 0},
        nesterov = {"boolean", false}, decays = "function?", state = {"function", zeros}})
    local next = {}
    for name, p in pairs(params) do
        local g, decay = grads[name], decay_of(o, name, p)
        if decay ~= 0 then g = g + decay * p end
        if o.momentum ~= 0 then
            local b = o.momentum * o.state("sgd." .. name, p.shape) + g
            next["sgd." .. name] = b
            g = o.nesterov and g + o.momentum * b or b
        end
        next[name] = p - o.lr * g
    end
    return next
end

-- Returns the next value of a running average that starts at zero.  The same average of ones is 1 - beta^t after
-- t steps, by which the average of values is divided to correct for the start.
local function average(old, value, beta)
    return beta * old + (1 - beta) * value
end

-- Adam (Kingma, Ba: Adam, 2015): running averages m and v of the gradient and of its square,
-- both made up for their beginning at zero:
--     p = p - lr (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + eps)
-- `prepare(p, g, decay)` returns the parameter and the gradient that the step begins with.
local function adam(params, grads, o, prepare)
    local state, beta1, beta2 = o.state, o.betas[1], o.betas[2]
    assert(type(beta1) == "number" and type(beta2) == "number",
        "betas: found " .. tostring(beta1) .. " and " .. tostring(beta2) .. ", expected two numbers")
    local part1 = average(state("adam.part1", {}), 1, beta1)
    local part2 = average(state("adam.part2", {}), 1, beta2)
    local next = {["adam.part1"] = part1, ["adam.part2"] = part2}
    local rate, root = o.lr / part1, sqrt(part2)
    for name, p in pairs(params) do
        local old, g = prepare(p, grads[name], decay_of(o, name, p))
        local m = average(state("adam.m." .. name, p.shape), g, beta1)
        local v = average(state("adam.v." .. name, p.shape), g * g, beta2)
        next["adam.m." .. name], next["adam.v." .. name] = m, v
        next[name] = old - rate * m / (sqrt(v) / root + o.eps)
    end
    return next
end

-- The options of adam and adamw.
local adam_options = {
    lr = "number|tensor", betas = {"table", {0.9, 0.999}}, eps = {"number", 1e-8},
    weight_decay = {"number", 0}, decays = "function?", state = {"function", zeros},
}

-- As torch.optim.Adam: weight decay is added to the gradient.  The state is adam.m.NAME,
-- adam.v.NAME, adam.part1 and adam.part2.
-- config: lr, betas = {0.9, 0.999}, eps = 1e-8, weight_decay = 0, decays, state.
function optim.adam(params, grads, config)
    local o = layer_options("optim.adam", config, adam_options)
    return adam(params, grads, o, function(p, g, decay)
        return p, decay ~= 0 and g + decay * p or g
    end)
end

-- As torch.optim.AdamW: weight decay shrinks the parameter itself, whatever its gradient
-- (Loshchilov, Hutter: Decoupled Weight Decay Regularization, 2019).
-- config: as for adam, with weight_decay = 0.01.
function optim.adamw(params, grads, config)
    local o = layer_options("optim.adamw", config, adam_options, {weight_decay = {"number", 0.01}})
    local keep = 1 - o.weight_decay * o.lr
    return adam(params, grads, o, function(p, g, decay)
        return decay ~= 0 and p * keep or p, g
    end)
end

-- Returns the number of steps made before this one, an i32 scalar, and next.step for the table that the script
-- returns.
function optim.step()
    local step = input("step", {}, "i32", {fill = 0})
    return step, step + 1
end

-- cos(pi x) for 0 <= x <= 1, as 1 - 2 sin^2(pi x / 2); the sine is its Taylor polynomial
-- of degree 13, whose error is below 1e-9.
local function cos_pi(x)
    local u = x * (math.pi / 2)
    local square, term = u * u, 1
    for k = 12, 2, -2 do term = 1 - square * term / (k * (k + 1)) end
    local sine = u * term
    return 1 - 2 * sine * sine
end

-- A learning rate that rises from 0 to config.lr over `warmup` steps, then falls to
-- config.min_lr (0) by half a cosine, until `steps` are made, and stays there:
--     lr (step + 1) / warmup                                              step < warmup
--     min_lr + (lr - min_lr) (1 + cos(pi (step - warmup) / (steps - warmup))) / 2
-- (Loshchilov, Hutter: SGDR, 2017).  step: an i32 scalar, from 0.
function optim.cosine_schedule(step, config)
    local o = layer_options("optim.cosine_schedule", config, {
        lr = "number|tensor", min_lr = {"number|tensor", 0}, warmup = {"number", 0}, steps = "number"})
    local s, warmup, low = float(step), o.warmup, o.min_lr
    if o.steps <= warmup then
        error("found steps " .. o.steps .. ", expected more than warmup " .. warmup)
    end
    local progress = minimum(maximum((s - warmup) / (o.steps - warmup), 0), 1)
    local share = maximum(0.5 * (1 + cos_pi(progress)), 0) -- whose error might make it less
    local cosine = low + (o.lr - low) * share
    if warmup == 0 then return cosine end
    return where(lt(s, warmup), (s + 1) * (o.lr / warmup), cosine)
end

return optim
