-- GPT-NeoX and Pythia (Black et al.: GPT-NeoX-20B, 2022; Biderman et al.: Pythia, 2023): attention and
-- feed-forward side by side, rotary positions for a part of each head.  Names are Hugging Face's
-- (GPTNeoXForCausalLM).

local nn = require "nn"
local attention, huggingface = require "attention", require "huggingface"
local masks, rotary, transformer = require "masks", require "rotary", require "transformer"

local o = options(huggingface.merge(huggingface.rope_options(), {
    B = 1, T = 16, -- sequences, tokens
    model_type = {"gpt_neox"},
    vocab_size = 512, hidden_size = 64, intermediate_size = 256, num_hidden_layers = 2,
    num_attention_heads = 4, hidden_act = huggingface.activations("gelu"), layer_norm_eps = 1e-5,
    partial_rotary_factor = {number = 0.25}, use_parallel_residual = true, attention_bias = true,
    tie_word_embeddings = false,
}), huggingface.keys({"is_decoder"}, true), huggingface.sizes)

local norm = {eps = o.layer_norm_eps}
local H = o.num_attention_heads
local d = attention.head_size(o.hidden_size, H)
local angles = huggingface.partial_rope(o, d)
local feed_forward = huggingface.feed_forward(o, "dense_h_to_4h", "dense_4h_to_h")
local mask = masks.causal(o.T)

-- Q, K and V of one projection, which has those of a head side by side.
local function attend(x)
    local qkv = scope("query_key_value", nn.linear, x, 3 * o.hidden_size, o.attention_bias)
    qkv = qkv:reshape{o.B, o.T, H, 3, d}
    local function part(i)
        local heads = qkv:slice({0, 0, 0, i, 0}, {o.B, o.T, H, 1, d}):reshape{o.B, o.T, H, d}
        return (heads:transpose(2, 3))
    end
    local q = tap("q", rotary.halves(part(0), angles))
    local k = tap("k", rotary.halves(part(1), angles))
    local v = tap("v", part(2))
    local y = tap("y", attention.merge_heads(attention.attend(q, k, v, mask)))
    return (scope("dense", nn.linear, y, o.hidden_size, o.attention_bias))
end

local function block(x)
    local kind = o.use_parallel_residual and transformer.parallel_block or transformer.block
    return kind(x,
        function(x)
            local n = scope("input_layernorm", nn.layer_norm, x, norm)
            return (scope("attention", attend, n))
        end,
        function(x)
            return feed_forward(scope("post_attention_layernorm", nn.layer_norm, x, norm))
        end)
end

local ids = input("ids", {o.B, o.T}, "i32")
local x = scope("gpt_neox.embed_in", nn.embedding, ids, o.vocab_size, o.hidden_size, 0.02)
x = transformer.stack(x, "gpt_neox.layers", o.num_hidden_layers, block)
x = scope("gpt_neox.final_layer_norm", nn.layer_norm, x, norm)
if o.tie_word_embeddings then
    return {logits = scope("gpt_neox.embed_in", nn.tied_head, x, o.vocab_size, 0.02)}
end
return {logits = scope("embed_out", nn.linear, x, o.vocab_size, false)}
