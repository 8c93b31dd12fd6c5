-- CLIP (Radford et al.: Learning Transferable Visual Models, 2021) and SigLIP (Zhai et al., 2023): a tower for
-- texts and one for images, both pre-norm encoders, whose vectors are compared.  Names are Hugging Face's.

local nn = require "nn"
local attention, embedding, huggingface = require "attention", require "embedding", require "huggingface"
local masks, transformer = require "masks", require "transformer"

local clip = {}

-- Options of both towers; in a script, each name begins with text_ or vision_.
local tower_options = {
    text = {
        vocab_size = 49408, max_position_embeddings = 77, projection_size = 0, eos_token_id = 49407,
        hidden_size = 512, intermediate_size = 2048, num_hidden_layers = 12, num_attention_heads = 8,
        hidden_act = "quick_gelu", layer_norm_eps = 1e-5,
    },
    vision = {
        image_size = "224", patch_size = "32", num_channels = 3, vision_use_head = true, -- patches "height,width", too
        hidden_size = 768, intermediate_size = 3072, num_hidden_layers = 12, num_attention_heads = 12,
        hidden_act = "quick_gelu", layer_norm_eps = 1e-5,
    },
}

-- Maps the keys of config.json at `place` to the options of a tower; ignores keys that do not concern the graph.
local function place_keys(keys, ignored, tower, place)
    for name in pairs(tower_options[tower]) do keys[place .. name] = tower .. "_" .. name end
    for _, name in ipairs(ignored) do
        if keys[place .. name] == nil then keys[place .. name] = false end
    end
    keys[place .. "model_type"] = place == "" and "model_type" or false
end

-- Returns the three arguments of `options` for a script with these towers.  places: their places in config.json,
-- {text = "text_config"}, or {text = ""} for the top.  own: more options, and other defaults of the towers'.
function clip.options(places, own)
    local keys = huggingface.keys({"dropout", "logit_scale_init_value", "projection_dim", "tie_word_embeddings"}, true)
    local declared, sizes, ignored = {
        B = 1, T = 16, -- texts or images, tokens
        pooling = {"none", "features"}, normalize = false, -- "features": one vector for a text of up to T tokens
    }, {}, {}
    for name, option in pairs(keys) do
        if not option then table.insert(ignored, name) end
    end
    for tower, place in pairs(places) do
        for name, default in pairs(tower_options[tower]) do
            local option = tower .. "_" .. name
            if own[option] ~= nil then default = own[option] end
            declared[option] = name == "hidden_act" and huggingface.activations(default) or default
            sizes[option] = huggingface.sizes[name]
        end
        place_keys(keys, ignored, tower, place == "" and "" or place .. ".")
        if place ~= "" then place_keys(keys, ignored, tower, place .. "_dict.") end
    end
    for name, default in pairs(own) do
        if declared[name] == nil then declared[name] = default end
    end
    return declared, keys, sizes
end

-- Returns the options of one tower, without the prefix text_ or vision_.
function clip.tower(o, tower)
    local options = {B = o.B, T = o.T}
    for name in pairs(tower_options[tower]) do options[name] = o[tower .. "_" .. name] end
    if o.pooling ~= "none" then options.T = length("T", math.min(o.T, options.max_position_embeddings)) end
    return options
end

local function feed_forward(o)
    return huggingface.feed_forward({intermediate_size = o.intermediate_size, hidden_act = o.hidden_act}, "fc1", "fc2")
end

local function blocks(x, o, mask)
    local norm = {eps = o.layer_norm_eps}
    local layer = {n_head = o.num_attention_heads, mask = mask,
        names = {q = "q_proj", k = "k_proj", v = "v_proj", out = "out_proj"}}
    return (transformer.stack(x, "encoder.layers", o.num_hidden_layers, function(x)
        return transformer.block(x,
            function(x)
                local n = scope("layer_norm1", nn.layer_norm, x, norm)
                return (scope("self_attn", attention.separate, n, layer))
            end,
            function(x) return (feed_forward(o)(scope("layer_norm2", nn.layer_norm, x, norm))) end)
    end))
end

-- Pads ids [1, n] of a text, where n is a length, to `size` ids by the id `pad`.
local function fill(ids, n, size, pad)
    local at = iota({size}, 1)
    local filled = where(lt(at, n), gather(ids:reshape{n}, minimum(at, n - 1)), pad)
    return (filled:reshape{1, size})
end

-- Returns the vectors [B, T, C] of the input ids [B, T], and ids.  A token sees the earlier ones if `is_causal`,
-- else all; with an id `pad` a text is padded to all positions.
function clip.text(o, is_causal, pad)
    local ids = input("ids", {o.B, o.T}, "i32")
    if pad and (pad < 0 or pad >= o.vocab_size) then
        error("text_pad: found " .. pad .. ", expected an id from 0 to " .. o.vocab_size - 1)
    end
    if pad then ids = fill(ids, o.T, o.max_position_embeddings, pad) end
    local function tower()
        local x = scope("embeddings.token_embedding", nn.embedding, ids, o.vocab_size, o.hidden_size, 0.02)
        x = scope("embeddings.position_embedding", nn.learned_positions, x, o.max_position_embeddings, 0.02)
        x = blocks(x, o, is_causal and masks.causal(x:size(2)) or nil)
        return (scope("final_layer_norm", nn.layer_norm, x, {eps = o.layer_norm_eps}))
    end
    return scope("text_model", tower), ids
end

-- Returns the vectors [B, C] of the tokens that end the texts: the first token with the id eos or, in old files,
-- where eos is 2, the token with the largest id.
function clip.ends(x, ids, eos)
    local B, T, C = x:size(1), x:size(2), x:size(-1)
    local at = argmax(eos == 2 and ids or int(eq(ids, eos)), 2, false)
    if B == 1 then return gather(x:reshape{T, C}, at) end
    return gather(x:reshape{B * T, C}, at + iota({B}, 1) * T)
end

-- Returns the result of a script for `features` [1, C] of a text: one vector if o.pooling is set, else `outputs`.
function clip.outputs(o, features, outputs)
    if o.pooling == "none" then return outputs end
    local v = features:reshape{features:size(-1)}
    return {embedding = o.normalize and embedding.normalize(v) or v}
end

-- Returns [B, patches, C] for the input pixel_values, with or without a class vector in front.  how: bias (of the
-- patches), class, and norm_before and norm_after, each a name or nil.
function clip.vision(o, how)
    local height, width = huggingface.pair(o, "image_size")
    local size = {huggingface.pair(o, "patch_size")}
    local pixels = input("pixel_values", {o.B, o.num_channels, height, width})
    local norm, C = {eps = o.layer_norm_eps}, o.hidden_size
    return (scope("vision_model", function()
        local x = scope("embeddings.patch_embedding", nn.patches, pixels, C, size, how.bias)
        if how.class then
            local class = param("embeddings.class_embedding", {C}, {normal = 0.02})
            x = concat({class:reshape{1, 1, C}:expand{o.B, 1, C}, x}, 2)
        end
        x = x + param("embeddings.position_embedding.weight", {x:size(2), C}, {normal = 0.02})
        if how.norm_before then x = scope(how.norm_before, nn.layer_norm, x, norm) end
        x = blocks(x, o, nil)
        return how.norm_after and scope(how.norm_after, nn.layer_norm, x, norm) or x
    end))
end

-- Attention of one learned query to all patches, then a feed-forward part: [B, P, C] to [B, C].
function clip.attention_pool(x, o)
    local B, P, C = unpack(x.shape)
    local probe = param("probe", {1, 1, C}, {normal = 0.02})
    local function attend()
        local weight = param("in_proj_weight", {3 * C, C}, {normal = 0.02})
        local bias = param("in_proj_bias", {3 * C}, {fill = 0})
        local function project(x, i)
            local y = matmul(x, narrow(weight, 1, i * C, C):transpose(1, 2)) + narrow(bias, 1, i * C, C)
            return (attention.split_heads(y, o.num_attention_heads))
        end
        local y = attention.attend(project(probe:expand{B, 1, C}, 0), project(x, 1), project(x, 2))
        return (scope("out_proj", nn.linear, attention.merge_heads(y), C))
    end
    local y = scope("attention", attend)
    local n = scope("layernorm", nn.layer_norm, y, {eps = o.layer_norm_eps})
    return (y + feed_forward(o)(n)):reshape{B, C}
end

-- The text tower of CLIP: returns [B, T, C] and the vectors [B, C] of the texts.
function clip.clip_text(o)
    local x, ids = clip.text(o, true)
    return x, clip.ends(x, ids, o.eos_token_id)
end

function clip.clip_vision(o)
    local x = clip.vision(o, {bias = false, class = true, norm_before = "pre_layrnorm"})
    local first = x:slice({0, 0, 0}, {o.B, 1, o.hidden_size}):reshape{o.B, o.hidden_size}
    return x, scope("vision_model.post_layernorm", nn.layer_norm, first, {eps = o.layer_norm_eps})
end

-- Returns defaults for SigLIP's options, with `own` added.
function clip.siglip(own)
    return huggingface.merge({
        text_vocab_size = 32000, text_max_position_embeddings = 64, text_hidden_size = 768,
        text_intermediate_size = 3072, text_num_attention_heads = 12, text_hidden_act = "gelu_pytorch_tanh",
        text_layer_norm_eps = 1e-6, text_pad = 1, -- what texts are filled up with, for one vector of a text
        vision_patch_size = "16", vision_hidden_act = "gelu_pytorch_tanh", vision_layer_norm_eps = 1e-6,
    }, own)
end

-- SigLIP's text tower: the vector of a text is that of its last token, after a layer.  pad: see clip.text.
function clip.siglip_text(o, pad)
    local x = clip.text(o, false, pad)
    local last = x:slice({0, x:size(2) - 1, 0}, {o.B, 1, o.hidden_size}):reshape{o.B, o.hidden_size}
    local size = o.projection_size > 0 and o.projection_size or o.hidden_size
    return x, scope("text_model.head", nn.linear, last, size)
end

function clip.siglip_vision(o)
    local x = clip.vision(o, {bias = true, norm_after = "post_layernorm"})
    return x, o.vision_use_head and scope("vision_model.head", clip.attention_pool, x, o) or nil
end

return clip
