-- OLMo 2 (Team OLMo: 2 OLMo 2 Furious, 2024): a Llama whose norms stand behind attention and
-- feed-forward, and which normalises all queries, and all keys, of a token at once.  Names are Hugging
-- Face's (Olmo2ForCausalLM).

local nn, attention = require "nn", require "attention"
local huggingface, llama = require "huggingface", require "llama"
local transformer = require "transformer"

local o = options(llama.options {
    model_type = {"olmo2"},
    attention_bias = false,
}, huggingface.keys {"is_decoder"}, huggingface.sizes)

local norm = {eps = o.rms_norm_eps}

-- Norms come before heads are split, so this is not attention.separate.
local function attend(x, layer)
    local H, d = layer.n_head, layer.head_size
    local G = layer.n_kv_head or H
    local function project(name, n)
        return (scope(name, nn.linear, x, n * d, o.attention_bias))
    end
    local q = scope("q_norm", nn.rms_norm, project("q_proj", H), norm)
    local k = scope("k_norm", nn.rms_norm, project("k_proj", G), norm)
    local v = attention.split_heads(project("v_proj", G), G)
    q = layer.position(attention.split_heads(q, H))
    k = layer.position(attention.split_heads(k, G))
    local y = attention.merge_heads(attention.grouped(q, k, v, layer.mask))
    return (scope("o_proj", nn.linear, y, o.hidden_size, o.attention_bias))
end

local function block(x, layer)
    return transformer.block(x,
        function(x)
            local y = scope("self_attn", attend, x, layer)
            return (scope("post_attention_layernorm", nn.rms_norm, y, norm))
        end,
        function(x)
            local y = llama.feed_forward(x, o, o.hidden_act)
            return (scope("post_feedforward_layernorm", nn.rms_norm, y, norm))
        end)
end

local ids = input("ids", {o.B, o.T}, "i32")
local x = scope("model.embed_tokens", nn.embedding, ids, o.vocab_size, o.hidden_size, 0.02)
for i, layer in ipairs(llama.layers(o)) do
    x = scope("model.layers." .. i - 1, block, x, layer)
end
x = scope("model.norm", nn.rms_norm, x, norm)
return {logits = llama.head(x, o)}
