-- The model of language-runs.md: an autoencoder, whose halves can be asked for by themselves.
local nn = require "nn"
local o = options {T = 8, n_embd = 32, n_code = 4}

local x, code = input("x", {o.T, o.n_embd}), input("code", {o.T, o.n_code})
local z = nn.relu(scope("encoder", nn.linear, x, o.n_code))
local function decode(z) return scope("decoder", nn.linear, z, o.n_embd) end
return {
    encode = {z = z},
    decode = {y = decode(code)},
    both = {y = decode(z), loss = nn.mse_loss(decode(z), x)},
}
