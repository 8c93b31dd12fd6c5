-- The decoder of Llama under Hugging Face's names (Touvron et al.: LLaMA, 2023; Grattafiori et al.:
-- The Llama 3 Herd of Models, 2024), and of the models that are built like it.

local nn = require "nn"
local attention = require "attention"
local embedding = require "embedding"
local huggingface = require "huggingface"
local masks = require "masks"
local rotary = require "rotary"
local transformer = require "transformer"

local llama = {}

-- Returns the options of such a model, with the keys of its config.json; `own` are the script's additional
-- options and defaults.  The default sizes give a small model.
function llama.options(own)
    local common = {
        B = 1, T = 16, -- sequences, tokens
        vocab_size = 512, hidden_size = 64, intermediate_size = 172, num_hidden_layers = 2,
        num_attention_heads = 8, num_key_value_heads = 0, head_dim = 0, -- 0: as wide as it takes
        hidden_act = huggingface.gated_activations("silu"), rms_norm_eps = 1e-6,
        tie_word_embeddings = false,
        is_causal = true, -- false: a token sees all others
    }
    common = huggingface.merge(common, embedding.options)
    return huggingface.merge(huggingface.merge(common, huggingface.rope_options()), own)
end

-- The options that the functions below take: those of such a model, or a table with the same keys.
local of_model = {
    B = "size?", T = "size?", vocab_size = "size?", hidden_size = "size?", intermediate_size = "size?",
    num_hidden_layers = "size?", num_attention_heads = "size?", num_key_value_heads = {"whole", 0},
    head_dim = {"whole", 0}, hidden_act = {"string", "silu"}, rms_norm_eps = {"number", 1e-6},
    tie_word_embeddings = {"boolean", false}, is_causal = {"boolean", true},
    pooling = {"string", "none"}, modules = {"string", ""}, normalize = {"boolean", false},
    classes = {"whole", 0}, pad_token_id = {"string", ""}, score = {"string", ""},
}

-- Options that are required: by all layers, by a feed-forward, by a head.
local of_layers = {
    T = "size", hidden_size = "size", num_hidden_layers = "size", num_attention_heads = "size",
}
local of_feed_forward = {intermediate_size = "size"}
local of_head = {vocab_size = "size"}

-- Raises an error if positions depend on the length of a text, for which T is only a bound.
local function check_length(o)
    if not embedding.is_whole(o) then return end
    local limits = {dynamic = o.max_position_embeddings, longrope = o.rope_original_max_position_embeddings}
    local limit = limits[o.rope_type]
    if limit and limit > 0 and o.T > limit then
        error("rope_type " .. o.rope_type .. ": found texts of up to " .. o.T .. " tokens, expected at most " .. limit)
    end
end

-- Returns for each layer a config for attention.separate: positions, masks and sizes.  windows: the window of
-- each layer, or 0; without it a token sees all earlier ones or, if o.is_causal is false, all tokens.
function llama.layers(o, windows)
    o = layer_options("llama.layers", o, of_model, huggingface.of_rope, of_layers)
    if windows and #windows ~= o.num_hidden_layers then
        error("found " .. #windows .. " windows, expected one for each of " .. o.num_hidden_layers .. " layers")
    end
    check_length(o)
    local d = o.head_dim > 0 and o.head_dim or attention.head_size(o.hidden_size, o.num_attention_heads)
    local angles, sliding = huggingface.rope(o, o.T, d)
    local all = o.is_causal and masks.causal(o.T) or nil
    local layers = {}
    for i = 1, o.num_hidden_layers do
        local mask = all
        if windows and windows[i] > 0 and windows[i] < o.T then
            sliding = sliding or (o.is_causal and masks.sliding_window(o.T, windows[i])
                or masks.local_window(o.T, windows[i] - 1))
            mask = sliding
        end
        layers[i] = {
            n_head = o.num_attention_heads, head_size = d, mask = mask,
            n_kv_head = o.num_key_value_heads > 0 and o.num_key_value_heads or nil,
            position = function(x) return (rotary.halves(x, angles)) end,
            names = {q = "q_proj", k = "k_proj", v = "v_proj", out = "o_proj",
                q_norm = "q_norm", k_norm = "k_norm"},
        }
    end
    return layers
end

-- The gated feed-forward of a block.  act: a name that huggingface.gated knows.
function llama.feed_forward(x, o, act, bias)
    o = layer_options("llama.feed_forward", o, of_model, huggingface.of_rope, of_feed_forward)
    return (scope("mlp", transformer.gated_feed_forward, x, {
        d_ff = o.intermediate_size, glu = huggingface.gated(act), bias = bias or false,
        gate_name = "gate_proj", up_name = "up_proj", down_name = "down_proj"}))
end

-- x + self_attn(norm(x)), then x + mlp(norm(x)).  layer: config of attention.separate.
function llama.block(x, o, layer, mlp_bias)
    o = layer_options("llama.block", o, of_model, huggingface.of_rope, of_feed_forward)
    local norm = {eps = o.rms_norm_eps}
    return transformer.block(x,
        function(x)
            local n = scope("input_layernorm", nn.rms_norm, x, norm)
            return (scope("self_attn", attention.separate, n, layer))
        end,
        function(x)
            local n = scope("post_attention_layernorm", nn.rms_norm, x, norm)
            return (llama.feed_forward(n, o, o.hidden_act, mlp_bias))
        end)
end

-- Returns logits of the vectors x, by the embedding's table if heads are tied: for all tokens, or for `tokens`,
-- an i32 tensor [n].
function llama.head(x, o, tokens)
    o = layer_options("llama.head", o, of_model, huggingface.of_rope, of_head)
    if tokens then
        local name = o.tie_word_embeddings and "model.embed_tokens" or "lm_head"
        local rows = scope(name, nn.embedding, tokens, o.vocab_size, o.hidden_size, 0.02)
        return matmul(x, rows:transpose(1, 2))
    end
    if o.tie_word_embeddings then
        return (scope("model.embed_tokens", nn.tied_head, x, o.vocab_size, 0.02))
    end
    return (scope("lm_head", nn.linear, x, o.vocab_size, false))
end

-- Parts of a model, all of which may be left out: bias of the projections to Q, K and V, out_bias of
-- attention's output, mlp_bias; qk_norm, true to normalise queries and keys; windows of the layers.
local of_parts = {
    bias = {"boolean", false}, out_bias = {"boolean", false}, mlp_bias = {"boolean", false},
    qk_norm = {"boolean", false}, windows = "table?",
}

-- The model without its head: from ids [B, T] to normalised vectors [B, T, hidden_size].
function llama.vectors(ids, o, parts)
    parts = layer_options("llama.vectors", parts or {}, of_parts)
    o = layer_options("llama.vectors", o, of_model, huggingface.of_rope, of_layers, of_feed_forward, of_head)
    local x = scope("model.embed_tokens", nn.embedding, ids, o.vocab_size, o.hidden_size, 0.02)
    for i, layer in ipairs(llama.layers(o, parts.windows)) do
        layer.bias, layer.out_bias = parts.bias, parts.out_bias
        if parts.qk_norm then
            layer.norm = function(x) return (nn.rms_norm(x, {eps = o.rms_norm_eps})) end
        end
        x = scope("model.layers." .. i - 1, llama.block, x, o, layer, parts.mlp_bias)
    end
    return (scope("model.norm", nn.rms_norm, x, {eps = o.rms_norm_eps}))
end

-- The whole model: from ids [B, T] to logits [B, T, vocab_size].
function llama.model(ids, o, parts)
    parts = layer_options("llama.model", parts or {}, of_parts)
    o = layer_options("llama.model", o, of_model, huggingface.of_rope, of_layers, of_feed_forward, of_head)
    return (llama.head(llama.vectors(ids, o, parts), o))
end

-- The table that a script returns, ids and n being those of embedding.ids: logits, or what
-- embedding.of_decoder makes of the vectors.
function llama.outputs(ids, n, o, parts)
    local x = llama.vectors(ids, o, parts)
    return (embedding.of_decoder(x, ids, n, o, function(x, tokens)
        return (llama.head(x, o, tokens))
    end))
end

return llama
