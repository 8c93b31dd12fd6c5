-- Kernels that read one array become one with several results: both moments and the weight of AdamW,
-- each in place of a state.
local optim = require "optim"
local moments = {}
local function moment(name, shape)
    moments[name] = state(name, shape)
    return moments[name]
end
local w, g = state("w", {6, 40}), input("g", {6, 40})
local next = optim.adamw({w = w}, {w = g * 0.5}, {lr = 0.01, weight_decay = 0.1, state = moment})
replace(w, next.w)
for name, old in pairs(moments) do replace(old, next[name]) end
return {y = sum(next.w, 2)}
