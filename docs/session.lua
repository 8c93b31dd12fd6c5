-- The model of language-runs.md: attention to all tokens so far, for a prompt at once or for one more.
local nn = require "nn"
local o = options {T = 8, n_positions = 64, width = 32}

local at = state("at", {}, "i32") -- how many tokens there were
local keys = state("keys", {o.n_positions, o.width})
local values = state("values", {o.n_positions, o.width})

local function attend(x, n, entry)
    local q = scope("q", nn.linear, x, o.width)
    local k = write(keys, scope("k", nn.linear, x, o.width), at)
    local v = write(values, scope("v", nn.linear, x, o.width), at)
    replace(keys, k, entry)
    replace(values, v, entry)
    replace(at, at + n, entry)
    local shape = {n, o.n_positions}
    local seen = le(iota(shape, 2), iota(shape, 1) + at)
    local scores = where(seen, matmul(q, transpose(k, 1, 2)) * o.width ^ -0.5, -math.huge)
    return {y = matmul(nn.softmax(scores), v)}
end

return {
    prefill = attend(input("prompt", {o.T, o.width}), o.T, "prefill"),
    decode = attend(input("token", {1, o.width}), 1, "decode"),
}
