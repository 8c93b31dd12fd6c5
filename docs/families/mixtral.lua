-- Mixtral (Jiang et al.: Mixtral of Experts, 2024): a Mistral whose feed-forward is a mixture of experts.
-- All experts are computed here, and those that the router did not choose count 0.  Names are those of
-- the published files (MixtralForCausalLM).

local nn, attention = require "nn", require "attention"
local huggingface, llama = require "huggingface", require "llama"
local transformer = require "transformer"

local o = options(llama.options {
    model_type = {"mixtral"},
    num_local_experts = 8, num_experts_per_tok = 2, -- experts, and how many of them a token takes
    sliding_window = 0, -- 0: none
}, huggingface.keys {"is_decoder", "output_router_logits", "router_aux_loss_coef",
    "router_jitter_noise"}, huggingface.sizes)

local norm, E = {eps = o.rms_norm_eps}, o.num_local_experts

-- [B, T, E]: the probabilities of the experts that a token takes, which sum to 1, and 0 elsewhere.
local function route(x)
    local probs = nn.softmax(scope("gate", nn.linear, x, E, false))
    local chosen, rest = probs * 0, probs
    for i = 1, o.num_experts_per_tok do
        local best = eq(iota({E}, 1), argmax(rest, -1, true))
        chosen, rest = where(best, probs, chosen), where(best, -1, rest)
    end
    return chosen / sum(chosen, -1)
end

local function mixture(x)
    local weights, y = route(x)
    for e = 0, E - 1 do
        local expert = scope("experts." .. e, transformer.gated_feed_forward, x, {
            d_ff = o.intermediate_size, glu = huggingface.gated(o.hidden_act), bias = false,
            gate_name = "w1", up_name = "w3", down_name = "w2"})
        local weighted = narrow(weights, -1, e, 1) * expert
        y = y and y + weighted or weighted
    end
    return y
end

local function block(x, layer)
    return transformer.block(x,
        function(x)
            local n = scope("input_layernorm", nn.rms_norm, x, norm)
            return (scope("self_attn", attention.separate, n, layer))
        end,
        function(x)
            local n = scope("post_attention_layernorm", nn.rms_norm, x, norm)
            return (scope("block_sparse_moe", mixture, n))
        end)
end

local ids = input("ids", {o.B, o.T}, "i32")
local x = scope("model.embed_tokens", nn.embedding, ids, o.vocab_size, o.hidden_size, 0.02)
local windows = huggingface.windows(o, function() return true end)
for i, layer in ipairs(llama.layers(o, windows)) do
    layer.bias, layer.out_bias = false, false
    x = scope("model.layers." .. i - 1, block, x, layer)
end
return {logits = llama.head(scope("model.norm", nn.rms_norm, x, norm), o)}
