-- A small GPT that learns to sort digits, from data it makes itself.
--
--     crescent train graphs/train_sort.lua --save sort.safetensors
--     crescent run graphs/train_sort.lua --set task=answer --weights sort.safetensors
--
-- A sequence is `digits` digits drawn at random, then the same digits sorted: the model reads
-- all but the last and learns to say, from the last digit drawn on, what comes next.  There are
-- 10^digits questions, of which the training sees one in many thousands.

local nn, optim = require "nn", require "optim"
local transformer, gpt2, llama = require "transformer", require "gpt2", require "llama"

local o = options {
    task = {"train", "answer"},
    B = 64, digits = 10,                      -- sequences at a time, their length
    micro_batches = 1,                        -- so many times B sequences make a step
    model = {"gpt2", "llama"},
    n_layer = 2, n_embd = 48, n_head = 3,
    steps = 2500, lr = {number = 0.003}, warmup = 100, seed = 0,
    validation = false,                       -- of task train: `crescent train` sets it
}
local VALUES = 10
local T = 2 * o.digits - 1 -- tokens the model reads

-- The same by a Llama: rotary positions, whose slowest wave suits so few tokens, and one head of keys
-- and values for all queries.
local function small_llama(ids)
    return llama.model(ids, {
        B = o.B, T = ids:size(2), vocab_size = VALUES,
        hidden_size = o.n_embd, intermediate_size = 3 * o.n_embd, num_hidden_layers = o.n_layer,
        num_attention_heads = o.n_head, num_key_value_heads = 1, head_dim = 0,
        hidden_act = "silu", rms_norm_eps = 1e-5, tie_word_embeddings = false,
        rope_theta = 100, rope_type = "default"}, {})
end

-- Logits [B, t, VALUES] for what follows each of the tokens ids [B, t].
local function model(ids)
    if o.model == "llama" then return (small_llama(ids)) end
    local t = ids:size(2)
    local token = scope("wte", nn.embedding, ids, VALUES, o.n_embd)
    local position = param("wpe.weight", {T, o.n_embd}, {normal = 0.02, tied = true})
    local x = token + position:slice({0, 0}, {t, o.n_embd})
    x = transformer.stack(x, "h", o.n_layer, gpt2.block,
        {n_head = o.n_head, layer_norm_epsilon = 1e-5, layout = "conv1d"})
    x = scope("ln_f", nn.layer_norm, x, {eps = 1e-5})
    return (scope("lm_head", nn.linear, x, VALUES, false))
end

-- The number of elements for which a condition [.., n] holds, along the last axis: i32 [..].
-- (Sums are of floats, and ids are not; so the conditions are added up one by one.)
local function count(condition)
    local shape, total = condition.shape
    local n = table.remove(shape)
    local start, size = {}, {}
    for i, s in ipairs(condition.shape) do start[i], size[i] = 0, s end
    size[#size] = 1
    for i = 0, n - 1 do
        start[#start] = i
        local one = where(condition:slice(start, size), const(1, size, "i32"), const(0, size, "i32"))
        total = total and total + one or one
    end
    return (total:reshape(shape))
end

-- The whole part of numbers x [..], 0 <= x < VALUES, as ids.
local function whole(x)
    local column = x.shape
    table.insert(column, 1)
    return (count(ge(x:reshape(column), float(iota({VALUES - 1}, 1)) + 1)))
end

-- Digits [B, n], sorted.  Place j has the digit d for which at most j digits are smaller and
-- more than j are not greater; that is, d is how many values v have at most j digits <= v.
local function sort(ids)
    local B, n = unpack(ids.shape)
    local not_greater = count(le(ids:reshape{B, 1, n}, iota({VALUES, 1}, 1))) -- [B, VALUES]
    return (count(le(not_greater:reshape{B, 1, VALUES}, iota({n, 1}, 1))))
end

-- The id of the largest of logits [B, VALUES], the first of several: [B].
local function choose(logits)
    local ids = float(iota({VALUES}, 1))
    local first = -max(where(eq(logits, max(logits, -1)), -ids, -VALUES), -1, false)
    return (whole(first))
end

-- One step of training on questions of its own; the validation asks those that a step far
-- beyond the last one would draw.
local function train()
    local step, next_step = optim.step()
    local micro = optim.micro_batches(o.micro_batches)
    local draw = o.validation and 16777216 or micro.number(step)
    local question = scope("question", whole, random(draw, {o.B, o.digits}, o.seed) * VALUES)
    local all = concat({question, scope("sorted", sort, question)}, 2)
    local logits = model(all:slice({0, 0}, {o.B, T}))
    local said = logits:slice({0, o.digits - 1, 0}, {o.B, o.digits, VALUES})
    local target = all:slice({0, o.digits}, {o.B, o.digits})
    local loss = scope("loss", nn.cross_entropy, said, target)

    local params = parameters()
    local mean = micro.mean(optim.gradients(loss, params))
    local grads = scope("clip", optim.clip_grad_norm, mean, 1)
    local lr = optim.cosine_schedule(step, {lr = o.lr, warmup = o.warmup, steps = o.steps})
    local next = optim.adamw(params, grads, {lr = lr, betas = {0.9, 0.95}, weight_decay = 0.1,
        decays = function(name, p) return p.rank > 1 end})
    next.step, next.loss, next.lr = next_step, micro.mean(loss, "loss"), lr
    next.tokens = const(o.micro_batches * o.B * T, {}, "i32")
    return micro.step(next)
end

-- Answers questions, one digit after the other: each is the likeliest after what was said.
-- `exact` is how many of the answers are right in every digit, as a fraction.
local function answer()
    local question = input("digits", {o.B, o.digits}, "i32")
    local ids = question
    for t = o.digits, T do
        local logits = model(ids):slice({0, t - 1, 0}, {o.B, 1, VALUES}):reshape{o.B, VALUES}
        ids = concat({ids, choose(logits):reshape{o.B, 1}}, 2)
    end
    local said = ids:slice({0, o.digits}, {o.B, o.digits})
    local right = eq(count(eq(said, sort(question))), o.digits)
    return {question = question, answer = said, exact = nn.mean(float(right), 1):reshape{}}
end

return o.task == "train" and train() or answer()
