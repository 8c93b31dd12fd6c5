-- Interprets the keys of Hugging Face's config.json for the scripts of whole models.

local nn = require "nn"
local rotary, transformer = require "rotary", require "transformer"

local huggingface = {}

-- Splits "a,b" into {"a", "b"}.
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

-- Returns the set of the names in some texts, which spaces separate.
local function set(...)
    local names = {}
    for _, text in ipairs {...} do
        local start = 1
        for i = 1, #text + 1 do
            if i > #text or text:sub(i, i) == " " then
                names[text:sub(start, i - 1)] = true
                start = i + 1
            end
        end
    end
    return names
end

-- Keys that do not affect a graph: about training, generation, files, or ways to compute the same result.
local ignored = set(
    "_attn_implementation _attn_implementation_autoset _attn_implementation_internal",
    "_commit_hash _flash_attn_2_enabled _name_or_path _num_labels add_prefix_space architectures",
    "attention_dropout attention_dropout_prob attention_probs_dropout_prob",
    "attention_softmax_in_fp32 attn_implementation attn_pdrop auto_map bad_words_ids",
    "begin_suppress_tokens bos_token bos_token_id cache_implementation chunk_size_feed_forward",
    "classifier_dropout cls_token_id custom_pipelines decoder_start_token_id directionality",
    "diversity_penalty do_sample dtype early_stopping embd_pdrop encoder_no_repeat_ngram_size",
    "encoder_stride eos_token eos_token_id exponential_decay_length_penalty finetuning_task",
    "forced_bos_token_id forced_eos_token_id gradient_checkpointing hidden_dropout",
    "hidden_dropout_prob id2label initializer_factor initializer_range is_encoder_decoder is_llama_config",
    "label2id label_smoothing layerdrop length_penalty mask_token_id max_length max_new_tokens",
    "max_position_embeddings max_seq_len max_seq_length max_sequence_length min_length",
    "model_max_length n_ctx n_positions n_special no_repeat_ngram_size num_beam_groups num_beams",
    "num_labels num_return_sequences output_attentions output_hidden_states output_past",
    "output_scores pad_token pad_token_id pooler_fc_size pooler_num_attention_heads",
    "pooler_num_fc_layers pooler_size_per_head pooler_type predict_special_tokens prefix",
    "pretraining_tp problem_type remove_invalid_values reorder_and_upcast_attn",
    "repetition_penalty resid_pdrop return_dict return_dict_in_generate rope_scaling.finetuned",
    "sbert_ce_default_activation_function sentence_transformers sep_token_id seq_length",
    "softmax_in_fp32 summary_activation summary_first_dropout summary_proj_to_labels",
    "summary_type summary_use_proj suppress_tokens task_specific_params temperature",
    "tf_legacy_loss tokenizer_class top_k top_p torch_dtype torchscript transformers.js_config",
    "transformers_version typical_p unk_token_id unsloth_fixed unsloth_version use_bfloat16",
    "use_cache use_return_dict")

-- Words that mark a key which may change the results.
local numeric = set(
    "absolute act activation activations adapter adapters alibi attention attentions attn audio",
    "awq bias biased biases bidirectional bit bits block blocks bnb cap capping causal channels",
    "chunk chunked clamp clip compressed compression concat conv convolution cross decoder depth",
    "dilated dim dims dual embd embed embedding embeddings encoder eps epsilon expert experts",
    "factor factors ff ffn fp8 freq frequency gate gated gating geglu gelu glu gptq group",
    "grouped groups head heads hidden image inner int4 int8 interleave interleaved intermediate",
    "kernel kv latent layer layernorm layers learned linear ln local logit logits lora mask",
    "masked memory mixture mla mlp moe mqa mrope mtp multimodal multiplier mup ndims nope norm",
    "normalization normalize normalized norms ntk offset parallel patch permutation pos position",
    "positional positions projection projections projector prune pruned qk qkv quant",
    "quantization quantize quantized quantizer queries query rank ratio recurrent relative relu",
    "residual rms rmsnorm rope rotary rotate rotation routed router routing scale scaled scales",
    "scaling shared sharing sigmoid silu sink sinks size sizes sliding softcap softcapping",
    "softmax sparse sparsity ssm stages state states stride swiglu temperature theta tie tied",
    "transpose video vision vocab vocabulary width window windowed windows xpos yarn")

-- Words that mark such a key as harmless: it is about training, files or a way to compute the same result.
local harmless = set(
    "batch cache checkpoint checkpointing checkpoints classifier compile deepspeed drop dropout",
    "dropouts dtype efficient epoch epochs file files flash fp32 fused generation gradient impl",
    "implementation init initialization initializer label labels layerdrop liger loss losses",
    "matryoshka optimizer pdrop sdpa seed summary teacher tokenizer train training triton xformers")

-- Tables for other programs, which transformers does not read.
local foreign = {"dual_chunk_attention_config."}

-- Tables by which a file says that its weights are quantised.
local quantized = {"quantization_config.", "compression_config."}

-- Values by which a file says that a model lacks a part.
local without = set("false 0 -1 none None")

-- Parts that such a model always has, so that a file which says that it lacks one is an error.
local natural = set(
    "attention causal embedding embeddings glu is_causal layer_norm layernorm mlp norm position",
    "position_embedding position_embeddings positional_embeddings residual rms_norm rmsnorm rope",
    "rotary rotary_emb rotary_embedding rotary_embeddings scale scale_attention scale_attn_weights",
    "softmax")

-- Returns the words of a key: its runs of letters and digits.
local function words_of(key)
    local words, start = {}, 1
    key = key:lower()
    for i = 1, #key + 1 do
        local c = i <= #key and key:byte(i) or 32
        if not (c >= 97 and c <= 122 or c >= 48 and c <= 57) then
            if i > start then table.insert(words, key:sub(start, i - 1)) end
            start = i + 1
        end
    end
    return words
end

-- True if any of some words is in a set.
local function any(words, names)
    for _, word in ipairs(words) do
        if names[word] then return true end
    end
    return false
end

-- Whether a key ends in `last`.
local function ends_in(key, last)
    return #key >= #last and key:sub(#key - #last + 1) == last
end

-- True if a key, such as "use_rope" or "rope", asks for a part that such a model always has.
local function is_natural(key)
    for _, first in ipairs {"use_", "with_", "has_", "add_", "apply_", "enable_", "do_"} do
        if key:sub(1, #first) == first then key = key:sub(#first + 1) end
    end
    return natural[key] or false
end

-- True if a key begins with any of some texts.
local function begins_with(key, list)
    for _, first in ipairs(list) do
        if key:sub(1, #first) == first then return true end
    end
    return false
end

-- Whether all items of a list are one text.
local function all_are(list, text)
    for _, item in ipairs(split(list)) do
        if item ~= text then return false end
    end
    return true
end

-- Keys of parts besides the model that computes the vectors: heads, poolers, projections of towers.  A script
-- without options for such a part lacks it, and no class of transformers reads these keys without it.
local elsewhere = set(
    "add_pooling_layer classifier_activation classifier_bias classifier_dim classifier_hidden_size",
    "colbert_dim contrastive_dim decoder_bias dense_out_dim doc_stride head_hidden_size head_type",
    "logit_scale_init_value mask_punctuation mask_ratio num_choices num_unfrozen_layers out_dim output_dim",
    "pooler_act pooler_hidden_act pooler_hidden_size pooler_output_size projection_dim",
    "projection_hidden_act projection_size query_length sparse_pred_ignore_index sparse_prediction",
    "sentence_embedding_dimension span_heads student_layers tie_weights_ word_embedding_dimension")

-- Returns the width of a head by the sizes in a file.
local function head_width(values)
    local width = tonumber(values.hidden_size or values.n_embd or "")
    local heads = tonumber(values.num_attention_heads or values.n_head or "")
    return width and heads and width / heads
end

-- Returns a function of a value and all values of its file: true if one of some other keys has the same value.
local function repeats(...)
    local names = {...}
    return function(value, values, key)
        for _, name in ipairs(names) do
            if name ~= key and value == values[name] then return true end
        end
        return false
    end
end

-- Whether a value is the width of a head.
local function is_head_width(value, values) return tonumber(value) == head_width(values) end

-- Returns a function of a value: true if the value equals `text`.
local function is_text(text)
    return function(value) return value == text end
end

-- True if a file names code of its own, which may read other keys than the class of transformers does.
local function has_code(values)
    for name in pairs(values) do
        if begins_with(name, {"auto_map"}) then return true end
    end
    return false
end

-- By key: a function of the value, all values of the file and the key; true if the value says what holds without the
-- key.
local agrees = {
    activation = function(value, values)
        return value == values.hidden_act or value == "swiglu" and values.hidden_act == "silu"
    end,
    attention_type = is_text "original_full", is_causal = is_text "true",
    inner_group_num = is_text "1", num_hidden_groups = is_text "1", position_biased_input = is_text "true",
    layer_types = function(value) return all_are(value, "full_attention") end,
    max_window_layers = function(_, values) return values.use_sliding_window ~= "true" end,
    -- Old versions wrote "absolute" into every file, and only code of a file's own reads it where positions rotate.
    position_embedding_type = function(value, values)
        return value == "rope" or value == "rotary" or value == "absolute" and not has_code(values)
    end,
    sliding_window = function(_, values) return values.use_sliding_window == "false" end,
    task_type_vocab_size = function(_, values) return values.use_task_id == "false" end,
}
for names, function_of in pairs {
    ["act activation_fn ffn_activation"] = repeats("hidden_act", "activation_function"),
    ["attention_head_size attention_key_size head_dim head_size hidden_size_per_head kv_channels"] = is_head_width,
    ["block_size max_position_embedding"] = repeats("max_position_embeddings", "n_positions"),
    ["decoder_hidden_size dim emb_dim embed_dim embed_size embedding_dim embedding_dimension"] =
        repeats("hidden_size", "n_embd", "dim", "d_model"),
    ["embedding_hidden_size encoder_hidden_size model_dim"] = repeats("hidden_size", "n_embd", "dim", "d_model"),
    ["d_inner ffn_dim ffn_hidden_size"] = repeats("intermediate_size", "n_inner"),
    hidden_dim = repeats("intermediate_size", "n_inner", "hidden_size", "n_embd"),
    ["encoder_attention_heads num_attn_heads"] = repeats("num_attention_heads", "n_head"),
    ["encoder_layers num_attention_layers"] = repeats("num_hidden_layers", "n_layer"),
    ["decoder_vocab_size encoder_vocab_size vocab"] = repeats "vocab_size",
    ["layer_norm_eps layernorm_eps layernorm_epsilon norm_eps"] =
        repeats("rms_norm_eps", "layer_norm_eps", "layer_norm_epsilon"),
    num_key_value_heads = repeats("num_attention_heads", "n_head"),
    token_type_vocab_size = repeats "type_vocab_size",
} do
    for name in pairs(set(names)) do agrees[name] = function_of end
end

-- Keys by which a file says whether linear layers have biases.
local has_biases = set("attention_bias bias mlp_bias qkv_bias use_bias")

-- Judges a key that neither `options` nor `ignored` knows, with a text as value; `values` are all values of the
-- file.  Returns true if the key seems harmless by its name, false if it certainly has no effect, nil if it may
-- change the results.
local function judge(key, value, values, biased)
    local words = words_of(key)
    if begins_with(key, quantized) then return nil end
    for _, last in ipairs {"_token", "_token_id", "_token_ids", "_token_index"} do
        if ends_in(key, last) then return true end
    end
    if not any(words, numeric) or any(words, harmless) or begins_with(key, foreign) then
        return true
    end
    if agrees[key] and agrees[key](value, values, key) then return false end
    if elsewhere[key] and not has_code(values) then return true end
    if any(words, {bias = true, biases = true, biased = true}) and biased then
        if value == "true" and biased == true and has_biases[key] then return false end
        return nil
    end
    if any(words, {factor = true, multiplier = true, scale = true, scaling = true}) then
        if value == "1" or value == "false" then return false end
        return nil
    end
    if is_natural(key) then return nil end
    if without[value] or value == "" then return false end
    return nil
end

-- Other names of options: those of Hugging Face's attribute_map, and of rotary positions, which stood
-- at the top, then in rope_scaling, then in rope_parameters.
local renamed = {
    hidden_size = "n_embd", num_hidden_layers = "n_layer", num_attention_heads = "n_head",
    d_model = "hidden_size", emb_size = "hidden_size", embedding_size = "hidden_size", n_embd = "hidden_size",
    n_layer = "num_hidden_layers", n_layers = "num_hidden_layers", num_layers = "num_hidden_layers",
    n_head = "num_attention_heads", n_heads = "num_attention_heads",
    num_heads = "num_attention_heads", n_kv_heads = "num_key_value_heads",
    num_kv_heads = "num_key_value_heads", n_inner = "intermediate_size",
    activation_function = "hidden_act", hidden_activation = "hidden_act",
    hidden_act = "activation_function", layer_norm_eps = "layer_norm_epsilon",
    layer_norm_epsilon = "layer_norm_eps", sliding_window_size = "sliding_window",
    vocab_size_or_config_json_file = "vocab_size", n_vocab = "vocab_size",
    rotary_emb_base = "rope_theta", rotary_pct = "partial_rotary_factor",
    original_max_position_embeddings = "rope_original_max_position_embeddings",
}
for _, name in ipairs {"factor", "low_freq_factor", "high_freq_factor",
    "original_max_position_embeddings", "attention_factor", "beta_fast", "beta_slow", "mscale",
    "mscale_all_dim", "truncate", "long_factor", "short_factor"} do
    renamed["rope_scaling." .. name] = "rope_" .. name
    renamed["rope_parameters." .. name] = "rope_" .. name
end
for _, name in ipairs {"rope_scaling.", "rope_parameters."} do
    renamed[name .. "type"], renamed[name .. "rope_type"] = "rope_type", "rope_type"
    renamed[name .. "rope_theta"] = "rope_theta"
    renamed[name .. "partial_rotary_factor"] = "partial_rotary_factor"
end

-- The second argument of `options` for a script of a model.  `more` keys mean nothing to it; a key of its
-- file that nobody knows is passed over unless its name is of a kind that changes numbers, and its value
-- does not say that there is none.  biased: layers have biases by nature, so that none is a change; true
-- if all layers have.
function huggingface.keys(more, biased)
    local keys = {}
    for name, option in pairs(renamed) do keys[name] = option end
    for name in pairs(ignored) do keys[name] = false end
    for _, name in ipairs(more or {}) do keys[name] = false end
    keys["*"] = function(key, value, values) return judge(key, value, values, biased) end
    return keys
end

-- The third argument of `options` for such a script: a size that is there is a size, and no larger than
-- any that was published by far, so that no product of some is out of reach.  What a model does without,
-- as head_dim or n_inner, a file leaves out or has as null.
huggingface.sizes = {
    sliding_window = {0, 2 ^ 40}, sliding_window_pattern = {1, 2 ^ 16, null = false},
    head_dim = {1, 2 ^ 16}, num_key_value_heads = {1, 2 ^ 16},
    n_inner = {1, 2 ^ 20}, rope_theta = {1, 2 ^ 100, null = false},
    partial_rotary_factor = {0, 1, null = false}, query_pre_attn_scalar = {1, 2 ^ 40, null = false},
    attn_logit_softcapping = {0, 2 ^ 40}, final_logit_softcapping = {0, 2 ^ 40},
    max_position_embeddings = {1, 2 ^ 40}, num_hidden_layers = {1, 2 ^ 16, null = false},
}
for _, name in ipairs {"hidden_size", "intermediate_size", "n_embd", "n_head", "n_layer",
    "n_positions", "num_attention_heads", "num_channels", "type_vocab_size"} do
    huggingface.sizes[name] = {1, 2 ^ 20, null = false}
end
huggingface.sizes.global_rope_theta = huggingface.sizes.rope_theta
huggingface.sizes.local_rope_theta = {1, 2 ^ 100} -- null: that of all other layers
huggingface.sizes.vocab_size = {1, 2 ^ 24, null = false}
for _, name in ipairs {"layer_norm_eps", "layer_norm_epsilon", "norm_eps", "rms_norm_eps"} do
    huggingface.sizes[name] = {0, 1, null = false}
end

-- Returns the n numbers of an option, a list in config.json: "8,16"; a single number is used n times.
function huggingface.numbers(o, name, n)
    local items, numbers = split(o[name]), {}
    for i = 1, n do
        numbers[i] = tonumber(#items == 1 and items[1] or items[i])
        if not numbers[i] or #items > 1 and #items ~= n then
            error(name .. ": found '" .. o[name] .. "', expected a number, or " .. n .. " with commas between")
        end
    end
    return numbers
end

-- Returns the two sizes of an option: "384,640" is height and width, "224" is both.
function huggingface.pair(o, name)
    local sizes = split(o[name])
    for i = 1, 2 do
        local size = tonumber(sizes[i] or sizes[1])
        if not size or size % 1 ~= 0 or size < 1 or size > 2 ^ 20 or #sizes > 2 then
            error(name .. ": found '" .. o[name] .. "', expected a whole number from 1 to " ..
                math.floor(2 ^ 20) .. ", or two with a comma between")
        end
        sizes[i] = size
    end
    return sizes[1], sizes[2]
end

-- Merges two tables of options; the second has priority.  The first decides if the result counts as `options`'.
function huggingface.merge(defaults, own)
    local all = {}
    for name, value in pairs(defaults) do all[name] = value end
    for name, value in pairs(own) do all[name] = value end
    return setmetatable(all, getmetatable(defaults))
end

-- x tanh(log(1 + e^x)) as a quotient; from 20 on it is x in f32 (Misra: Mish, 2019).
local function mish(x)
    local e = exp(minimum(x, 20))
    local n = e * (e + 2)
    return x * (n / (n + 2))
end

local activations = {
    gelu = nn.gelu, gelu_new = nn.gelu_tanh, gelu_pytorch_tanh = nn.gelu_tanh,
    gelu_accurate = nn.gelu_tanh, gelu_fast = nn.gelu_tanh, gelu_python = nn.gelu,
    gelu_python_tanh = nn.gelu_tanh, quick_gelu = nn.quick_gelu,
    leaky_relu = function(x) return where(gt(x, 0), x, 0.01 * x) end,
    mish = mish, relu = nn.relu, relu2 = function(x) return nn.relu(x) ^ 2 end,
    relu6 = function(x) return minimum(nn.relu(x), 6) end,
    sigmoid = sigmoid, silu = nn.silu, swish = nn.silu, tanh = tanh,
}

-- Returns the choices for an option that names an activation; the first one is the default.
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

-- Returns the gated linear unit that uses an activation.
local function gate_by(act)
    return function(gate, up) return act(gate) * up end
end

local gated = {}
for name, act in pairs(activations) do gated[name] = gate_by(act) end

-- Returns the choices for an option that names the activation of a gated linear unit.
function huggingface.gated_activations(default)
    return huggingface.activations(default)
end

function huggingface.gated(name)
    return gated[name]
end

-- Returns the options of rotary positions; 0 and "" mean that config.json does not have the key.
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

-- The same options in the form that layer_options takes.
huggingface.of_rope = {}
for name, default in pairs(huggingface.rope_options()) do
    local value = type(default) == "table" and (default.number or default[1])
    if value == false then value = default end
    huggingface.of_rope[name] = {type(value), value}
end

-- Returns an option; raises an error if it has no value.
local function given(o, name)
    if o[name] == 0 or o[name] == "" then
        error("found rope_type " .. o.rope_type .. " without " .. name .. ", expected a value for " .. name)
    end
    return o[name]
end

-- Returns the context with which a model was trained; if the file does not say, the model's whole context.
local function trained_context(o)
    if o.rope_original_max_position_embeddings > 0 then return o.rope_original_max_position_embeddings end
    return given(o, "max_position_embeddings")
end

-- Returns the factor by which the context was extended after training.
local function rope_factor(o)
    if o.rope_factor > 0 then return o.rope_factor end
    return given(o, "max_position_embeddings") / given(o, "rope_original_max_position_embeddings")
end

-- Returns LongRoPE's factors of the frequencies: those for short contexts or those for long ones.
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

-- By rope_type: a function that returns frequencies, and a factor of all cosines and sines.
local kinds = {
    linear = function(o, w) return rotary.linear(w, given(o, "rope_factor")) end,
    -- "NTK-aware" scaling with a fixed factor, as GTE has it: of theta, and of all frequencies alike.
    ntk = function(o, _, _, d)
        local factor = given(o, "rope_factor")
        return rotary.linear(rotary.frequencies(d, o.rope_theta * factor), factor ^ (2 / d))
    end,
    llama3 = function(o, w)
        return rotary.llama3(w, given(o, "rope_factor"), o.rope_low_freq_factor,
            o.rope_high_freq_factor, trained_context(o))
    end,
    yarn = function(o, w)
        local factor, m, all = rope_factor(o), o.rope_mscale, o.rope_mscale_all_dim
        local scale = m ~= 0 and all ~= 0 and
            rotary.yarn_scale(factor, m) / rotary.yarn_scale(factor, all) or rotary.yarn_scale(factor)
        if o.rope_attention_factor > 0 then scale = o.rope_attention_factor end
        return rotary.yarn(w, o.rope_theta, factor, o.rope_beta_fast, o.rope_beta_slow,
            trained_context(o), not o.rope_truncate), scale
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

-- Returns the angles by which T positions rotate the first d numbers of a head.
function huggingface.rope(o, T, d)
    o = layer_options("huggingface.rope", o, huggingface.of_rope)
    if d < 2 or d % 2 ~= 0 then
        error("found rotary positions for " .. ("%g"):format(d) .. " numbers of each head, expected an even number")
    end
    local w, scale = rotary.frequencies(d, o.rope_theta), 1
    if o.rope_type ~= "default" then w, scale = kinds[o.rope_type](o, w, T, d) end
    for i = 1, #w do
        if w[i] - w[i] ~= 0 then
            error("rope_type " .. o.rope_type .. ": a frequency is not finite, expected finite numbers")
        end
    end
    return rotary.angles(T, w, scale)
end

-- Does the same for the part of a head of d numbers that o.partial_rotary_factor gives.
function huggingface.partial_rope(o, d)
    o = layer_options("huggingface.partial_rope", o, huggingface.of_rope,
        {T = "size", partial_rotary_factor = "number"})
    return huggingface.rope(o, o.T, math.floor(d * o.partial_rotary_factor))
end

-- Returns a feed-forward part of two layers with these names, in the scope "mlp", as a function of its input.
function huggingface.feed_forward(o, in_name, out_name)
    o = layer_options("huggingface.feed_forward", o,
        {intermediate_size = "size", hidden_act = "string"})
    local layer = {d_ff = o.intermediate_size, act = huggingface.activation(o.hidden_act),
        project = nn.linear, in_name = in_name, out_name = out_name}
    return function(x) return (scope("mlp", transformer.feed_forward, x, layer)) end
end

-- Returns a list of the sliding window of each layer, from layer 1 on, or 0 for none: as o.layer_types says or,
-- if that is "", for each layer for which slides(layer), counted from 0, is true.
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
