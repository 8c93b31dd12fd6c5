-- The block of GPT-2 under Hugging Face's names (Radford et al.: Language Models are
-- Unsupervised Multitask Learners, 2019).

local nn = require "nn"
local attention = require "attention"
local transformer = require "transformer"

local gpt2 = {}

-- x + attn(ln_1(x)), then x + mlp(ln_2(x)).
-- config: n_head, layer_norm_epsilon, layout: "conv1d" (weights [in, out], as Hugging
-- Face stores them) or "linear" (weights [out, in]); or the table of a script's options.
-- d_ff (4 n_embd) and act (nn.gelu_tanh) are of the feed-forward, how (attention.attend)
-- is of attention.
function gpt2.block(x, config, d_ff, act, how)
    local o = layer_options("gpt2.block", config, {
        n_head = "size", layer_norm_epsilon = {"number", 1e-5},
        layout = {"'conv1d'|'linear'", "conv1d"}})
    local norm = {eps = o.layer_norm_epsilon}
    local project = o.layout == "linear" and nn.linear or nn.conv1d
    return transformer.block(x,
        function(x)
            local n = scope("ln_1", nn.layer_norm, x, norm)
            return (scope("attn", attention.fused, n, {
                n_head = o.n_head, mask = attention.causal_mask(x:size(2)),
                how = how, project = project, qkv_name = "c_attn", out_name = "c_proj"}))
        end,
        function(x)
            local n = scope("ln_2", nn.layer_norm, x, norm)
            return (scope("mlp", transformer.feed_forward, n, {
                d_ff = d_ff or 4 * x:size(-1), act = act or nn.gelu_tanh,
                project = project, in_name = "c_fc", out_name = "c_proj"}))
        end)
end

return gpt2
