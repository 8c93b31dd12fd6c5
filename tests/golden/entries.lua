-- Entries that share weights: each has nodes of its own, one layout of the weights serves all.
local nn = require "nn"
local o = options {T = 8, n_embd = 32, n_code = 4}

local x, code = input("x", {o.T, o.n_embd}), input("code", {o.T, o.n_code})
local z = nn.relu(scope("encoder", nn.linear, x, o.n_code))
local function decode(z) local y = scope("decoder", nn.linear, z, o.n_embd) return y end
return {
    encode = {z = z},
    decode = {y = decode(code)},
    both = {y = decode(z), loss = nn.mse_loss(decode(z), x)},
}
