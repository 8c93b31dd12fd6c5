-- The Llama of tests/models.sh on the tokens of its story: logits [T, vocab_size] for what follows each, and
-- the share of tokens that are the likeliest ones.
local huggingface, llama, nn = require "huggingface", require "llama", require "nn"

local o = options(llama.options {
    model_type = {"llama"}, attention_bias = {"false"}, mlp_bias = {"false"}, n_tokens = 256,
}, huggingface.keys())

local T = o.n_tokens - 1
local tokens = input("tokens", {o.n_tokens}, "i32")
local logits = llama.model(tokens:slice({0}, {T}):reshape{1, T},
    huggingface.merge(o, {B = 1, T = T}), {}):reshape{T, o.vocab_size}

-- The logit of the token that came next is the largest.
local next_token = tokens:slice({1}, {T}):reshape{T, 1}
local hit = eq(iota(logits.shape, 2), next_token)
local said = sum(where(hit, logits, 0), 2)
return {logits = logits, likeliest = nn.mean(float(eq(said, max(logits, 2))), 1):reshape{}}
