-- What the keys of Hugging Face's config.json mean to the scripts of whole models.

local nn = require "nn"
local rotary, transformer = require "rotary", require "transformer"

local huggingface = {}

-- Keys that mean nothing to a graph: of training, of generation, of files.
local ignored = {
    "_attn_implementation_autoset", "_name_or_path", "architectures", "attention_dropout",
    "attention_probs_dropout_prob", "attn_pdrop", "auto_map", "bad_words_ids",
    "begin_suppress_tokens", "bos_token_id", "cache_implementation", "chunk_size_feed_forward",
    "classifier_dropout", "decoder_start_token_id", "directionality", "diversity_penalty",
    "do_sample", "dtype", "early_stopping", "embd_pdrop", "encoder_no_repeat_ngram_size",
    "encoder_stride", "eos_token_id", "exponential_decay_length_penalty", "finetuning_task",
    "forced_bos_token_id", "forced_eos_token_id", "gradient_checkpointing", "hidden_dropout",
    "hidden_dropout_prob", "id2label", "initializer_range", "label2id", "length_penalty",
    "max_length", "max_position_embeddings", "min_length", "n_ctx", "no_repeat_ngram_size",
    "num_beam_groups", "num_beams", "num_return_sequences", "output_attentions",
    "output_hidden_states", "output_past", "output_scores", "pad_token_id", "pooler_fc_size",
    "pooler_num_attention_heads", "pooler_num_fc_layers", "pooler_size_per_head", "pooler_type",
    "prefix", "pretraining_tp", "problem_type", "remove_invalid_values", "reorder_and_upcast_attn",
    "repetition_penalty", "resid_pdrop", "return_dict", "return_dict_in_generate", "sep_token_id",
    "summary_activation", "summary_first_dropout", "summary_proj_to_labels", "summary_type",
    "summary_use_proj", "suppress_tokens", "task_specific_params", "temperature",
    "tokenizer_class", "top_k", "top_p", "torch_dtype", "torchscript", "transformers_version",
    "typical_p", "unk_token_id", "use_bfloat16", "use_cache",
}

-- Other names of options: rotary positions stood at the top, then in rope_scaling, then in
-- rope_parameters.
local renamed = {
    rotary_emb_base = "rope_theta", rotary_pct = "partial_rotary_factor",
    original_max_position_embeddings = "rope_original_max_position_embeddings",
    ["rope_scaling.type"] = "rope_type", ["rope_scaling.rope_type"] = "rope_type",
    ["rope_parameters.rope_type"] = "rope_type", ["rope_parameters.rope_theta"] = "rope_theta",
    ["rope_parameters.partial_rotary_factor"] = "partial_rotary_factor",
}
for _, name in ipairs {"factor", "low_freq_factor", "high_freq_factor",
    "original_max_position_embeddings", "attention_factor", "beta_fast", "beta_slow", "mscale",
    "mscale_all_dim", "truncate", "long_factor", "short_factor"} do
    renamed["rope_scaling." .. name] = "rope_" .. name
    renamed["rope_parameters." .. name] = "rope_" .. name
end

-- The second argument of `options` for a script of a model; `more` keys mean nothing to it.
function huggingface.keys(more)
    local keys = {}
    for name, option in pairs(renamed) do keys[name] = option end
    for _, name in ipairs(ignored) do keys[name] = false end
    for _, name in ipairs(more or {}) do keys[name] = false end
    return keys
end

-- The third argument of `options` for such a script: a size that is there is a size.  What a model does
-- without, as head_dim or n_inner, a file leaves out or has as null.
huggingface.sizes = {sliding_window = 0}
for _, name in ipairs {"head_dim", "hidden_size", "image_size", "intermediate_size", "n_embd", "n_head",
    "n_inner", "n_layer", "n_positions", "num_attention_heads", "num_channels", "num_hidden_layers",
    "num_key_value_heads", "max_position_embeddings", "patch_size", "type_vocab_size",
    "vocab_size"} do
    huggingface.sizes[name] = 1
end

-- Two tables of options as one; the second one counts.  It is what `options` returned if the first one is.
function huggingface.merge(defaults, own)
    local all = {}
    for name, value in pairs(defaults) do all[name] = value end
    for name, value in pairs(own) do all[name] = value end
    return setmetatable(all, getmetatable(defaults))
end

local activations = {
    gelu = nn.gelu, gelu_new = nn.gelu_tanh, gelu_pytorch_tanh = nn.gelu_tanh,
    gelu_fast = nn.gelu_tanh, relu = nn.relu, silu = nn.silu, swish = nn.silu, tanh = tanh,
}

-- The choices of an option that names an activation; the first is the default.
function huggingface.activations(default)
    local list = {default}
    for name in pairs(activations) do
        if name ~= default then table.insert(list, name) end
    end
    return list
end

function huggingface.activation(name)
    return activations[name]
end

-- The gated linear unit of an activation.
local function gate_by(act)
    return function(gate, up) return act(gate) * up end
end

local gated = {
    silu = nn.swiglu, swish = nn.swiglu, gelu_pytorch_tanh = nn.geglu, gelu_new = nn.geglu,
    gelu = gate_by(nn.gelu), relu = gate_by(nn.relu),
}

-- The same for gated linear units.
function huggingface.gated_activations(default)
    local list = {default}
    for name in pairs(gated) do
        if name ~= default then table.insert(list, name) end
    end
    return list
end

function huggingface.gated(name)
    return gated[name]
end

-- "a,b" as {"a", "b"}
local function split(text)
    local list, start = {}, 1
    for i = 1, #text + 1 do
        if i > #text or text:sub(i, i) == "," then
            table.insert(list, text:sub(start, i - 1))
            start = i + 1
        end
    end
    return list
end

-- The options of rotary positions; 0 and "" stand for what config.json does not say.
function huggingface.rope_options()
    return {
        rope_theta = {number = 10000}, max_position_embeddings = 0,
        rope_type = {"default", "linear", "llama3", "yarn", "longrope", "dynamic"},
        rope_factor = {number = 0}, rope_low_freq_factor = {number = 1},
        rope_high_freq_factor = {number = 4}, rope_original_max_position_embeddings = 0,
        rope_attention_factor = {number = 0}, rope_beta_fast = {number = 32},
        rope_beta_slow = {number = 1}, rope_mscale = {number = 0},
        rope_mscale_all_dim = {number = 0}, rope_truncate = true,
        rope_long_factor = "", rope_short_factor = "",
    }
end

-- The same as options of a layer.
huggingface.of_rope = {}
for name, default in pairs(huggingface.rope_options()) do
    local value = type(default) == "table" and (default.number or default[1])
    if value == false then value = default end
    huggingface.of_rope[name] = {type(value), value}
end

-- What `name` says, or an error if that is nothing.
local function given(o, name)
    if o[name] == 0 or o[name] == "" then
        error("rope_type " .. o.rope_type .. " needs " .. name)
    end
    return o[name]
end

-- By how much the context was made longer.
local function rope_factor(o)
    if o.rope_factor > 0 then return o.rope_factor end
    return given(o, "max_position_embeddings") / given(o, "rope_original_max_position_embeddings")
end

-- The factors of frequencies, for short contexts or for long ones.
local function rope_factors(o, T, d)
    local long = T > given(o, "rope_original_max_position_embeddings")
    local name = long and "rope_long_factor" or "rope_short_factor"
    local factors = split(given(o, name))
    for i = 1, #factors do factors[i] = tonumber(factors[i]) end
    if #factors ~= d / 2 then
        error(name .. " has " .. #factors .. " items, expected one for each of " ..
            math.floor(d / 2) .. " frequencies")
    end
    return factors
end

-- Frequencies by rope_type, and what cosines and sines are multiplied by.
local kinds = {
    linear = function(o, w) return rotary.linear(w, given(o, "rope_factor")) end,
    llama3 = function(o, w)
        return rotary.llama3(w, given(o, "rope_factor"), o.rope_low_freq_factor,
            o.rope_high_freq_factor, given(o, "rope_original_max_position_embeddings"))
    end,
    yarn = function(o, w)
        local factor, m, all = rope_factor(o), o.rope_mscale, o.rope_mscale_all_dim
        local scale = m ~= 0 and all ~= 0 and
            rotary.yarn_scale(factor, m) / rotary.yarn_scale(factor, all) or rotary.yarn_scale(factor)
        if o.rope_attention_factor > 0 then scale = o.rope_attention_factor end
        return rotary.yarn(w, o.rope_theta, factor, o.rope_beta_fast, o.rope_beta_slow,
            given(o, "rope_original_max_position_embeddings"), not o.rope_truncate), scale
    end,
    longrope = function(o, w, T, d)
        local factor, n = rope_factor(o), given(o, "rope_original_max_position_embeddings")
        local scale = factor > 1 and math.sqrt(1 + math.log(factor) / math.log(n)) or 1
        if o.rope_attention_factor > 0 then scale = o.rope_attention_factor end
        return rotary.longrope(w, rope_factors(o, T, d)), scale
    end,
    dynamic = function(o, w, T, d)
        local theta = rotary.dynamic_theta(d, o.rope_theta, given(o, "rope_factor"), T,
            given(o, "max_position_embeddings"))
        return rotary.frequencies(d, theta)
    end,
}

-- The angles that T positions turn the first d numbers of a head by.
function huggingface.rope(o, T, d)
    o = layer_options("huggingface.rope", o, huggingface.of_rope)
    local w, scale = rotary.frequencies(d, o.rope_theta), 1
    if o.rope_type ~= "default" then w, scale = kinds[o.rope_type](o, w, T, d) end
    return rotary.angles(T, w, scale)
end

-- The same for the part of a head of d numbers that o.partial_rotary_factor says.
function huggingface.partial_rope(o, d)
    o = layer_options("huggingface.partial_rope", o, huggingface.of_rope,
        {T = "size", partial_rotary_factor = "number"})
    return huggingface.rope(o, o.T, math.floor(d * o.partial_rotary_factor))
end

-- A feed-forward part of two layers with these names, as a function of its input.
function huggingface.feed_forward(o, in_name, out_name)
    o = layer_options("huggingface.feed_forward", o,
        {intermediate_size = "size", hidden_act = "string"})
    local layer = {d_ff = o.intermediate_size, act = huggingface.activation(o.hidden_act),
        project = nn.linear, in_name = in_name, out_name = out_name}
    return function(x) return (scope("mlp", transformer.feed_forward, x, layer)) end
end

-- The sliding window of each layer, from 1 on, or 0: as o.layer_types says or, where that is "", as
-- `slides` does of a layer from 0 on.
function huggingface.windows(o, slides)
    o = layer_options("huggingface.windows", o, {
        num_hidden_layers = "size", layer_types = {"string", ""}, sliding_window = {"whole", 0}})
    local types, windows = o.layer_types ~= "" and split(o.layer_types), {}
    if types and #types ~= o.num_hidden_layers then
        error("layer_types has " .. #types .. " items, expected one for each of " ..
            o.num_hidden_layers .. " layers")
    end
    for i = 1, o.num_hidden_layers do
        local kind = types and types[i]
        if kind and kind ~= "sliding_attention" and kind ~= "full_attention" then
            error("layer_types: found '" .. kind .. "', expected sliding_attention or full_attention")
        end
        local sliding = slides(i - 1)
        if kind then sliding = kind == "sliding_attention" end
        windows[i] = sliding and o.sliding_window or 0
    end
    return windows
end

return huggingface
