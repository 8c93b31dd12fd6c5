-- A step over micro-batches that trains adapters of low rank beside weights that stay as they are: of an attention,
-- and of experts, of which each row takes the likeliest. `all` trains the weights, too.

local nn, optim = require "nn", require "optim"
local o = options {steps = 6, micro_batches = 4, C = 64, T = 6, F = 48, rank = 4, all = false, adapters = true}

-- x [.., K] times a matrix [K, n], plus the product of two narrow ones.
local function linear(x, n)
    local K = x:size(-1)
    local y = x:matmul(param("weight", {K, n}, {normal = 0.1}))
    if not o.adapters then return y end
    local down, up = param("adapter.down", {K, o.rank}, {normal = 0.2}), param("adapter.up", {o.rank, n}, {normal = 0.1})
    return y + x:matmul(down):matmul(up)
end

local function attention(x)
    local function heads(name) return scope(name, linear, x, o.C):reshape{2, o.T, 4, o.C / 4}:transpose(2, 3) end
    local probs = nn.softmax(heads "q":matmul(heads "k":transpose(3, 4)) * 0.25)
    return scope("o", linear, probs:matmul(heads "v"):transpose(2, 3):reshape{2, o.T, o.C}, o.C)
end

local function experts(x)
    local probs = nn.softmax(scope("gate", linear, x, 3))
    local chosen = where(eq(iota({3}, 1), argmax(probs, -1, true)), probs, 0)
    local y = 0
    for e = 0, 2 do
        local h = nn.silu(scope("up" .. e, linear, x, o.F))
        y = y + narrow(chosen, -1, e, 1) * scope("down" .. e, linear, h, o.C)
    end
    return y
end

local step, next_step = optim.step()
local micro = optim.micro_batches(o.micro_batches)
local x = random(micro.number(step), {2, o.T, o.C}, 3) - 0.5
local y = x + scope("attention", attention, x)
y = y + scope("experts", experts, y)
local loss = nn.mean((y - sin(x * 5)):reshape{-1} ^ 2, 1):reshape{}

local params = {}
for name, tensor in pairs(parameters()) do
    if o.all or string.sub(name, -6) ~= "weight" then params[name] = tensor end
end
local grads = optim.clip_grad_norm(micro.mean(optim.gradients(loss, params)), 1)
local next = optim.adamw(params, grads, {lr = 0.01})
next.step, next.loss = next_step, micro.mean(loss, "loss")
return micro.step(next)
