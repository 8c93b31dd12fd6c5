-- ViT (Dosovitskiy et al.: An Image is Worth 16x16 Words, 2021), a pre-norm encoder of images: pixels to a
-- vector for each patch, and one for the image.  Names are Hugging Face's (ViTModel; of models with a
-- head, --set name_prefix=vit.).

local nn = require "nn"
local attention, huggingface = require "attention", require "huggingface"
local transformer = require "transformer"

local o = options({
    B = 1, -- images
    model_type = {"vit"},
    image_size = "224", patch_size = "16", -- or "height,width"
    num_channels = 3,
    hidden_size = 768, intermediate_size = 3072, num_hidden_layers = 12, num_attention_heads = 12,
    hidden_act = huggingface.activations("gelu"), layer_norm_eps = 1e-12, qkv_bias = true,
    position_embedding_type = {"absolute"},
    pooler = true, -- whether there is the vector for the image, behind a layer of its own
    pooler_output_size = 0, -- 0: hidden_size
    pooler_act = huggingface.activations("tanh"),
    name_prefix = "", -- before every parameter's name
}, huggingface.keys({}, true), huggingface.sizes)

local norm = {eps = o.layer_norm_eps}
local B, C, channels = o.B, o.hidden_size, o.num_channels
local height, width = huggingface.pair(o, "image_size")
local patch_height, patch_width = huggingface.pair(o, "patch_size")
if height % patch_height ~= 0 or width % patch_width ~= 0 then
    error("image_size " .. o.image_size .. " is not divisible by patch_size " .. o.patch_size)
end
local rows, columns = height / patch_height, width / patch_width

-- Each patch is projected by itself: a convolution whose stride is its size.
local function patches(pixels)
    local size = channels * patch_height * patch_width
    local weight = param("weight", {C, channels, patch_height, patch_width}, {normal = 0.02})
    local x = pixels:reshape{B, channels, rows, patch_height, columns, patch_width}
    x = x:permute{1, 3, 5, 2, 4, 6}:reshape{B, rows * columns, size}
    return matmul(x, weight:reshape{C, size}:transpose(1, 2)) + param("bias", {C}, {fill = 0})
end

local layer = {
    n_head = o.num_attention_heads, bias = o.qkv_bias,
    names = {q = "attention.query", k = "attention.key", v = "attention.value",
        out = "output.dense"},
}

local function block(x)
    return transformer.block(x,
        function(x)
            local n = scope("layernorm_before", nn.layer_norm, x, norm)
            return (scope("attention", attention.separate, n, layer))
        end,
        function(x)
            local n = scope("layernorm_after", nn.layer_norm, x, norm)
            return (transformer.feed_forward(n, {
                d_ff = o.intermediate_size, act = huggingface.activation(o.hidden_act),
                project = nn.linear, in_name = "intermediate.dense", out_name = "output.dense"}))
        end)
end

prefix(o.name_prefix)
local pixels = input("pixel_values", {B, channels, height, width})
local x = scope("embeddings.patch_embeddings.projection", patches, pixels)
local class = param("embeddings.cls_token", {1, 1, C}, {normal = 0.02}):expand{B, 1, C}
x = concat({class, x}, 2)
    + param("embeddings.position_embeddings", {1, rows * columns + 1, C}, {normal = 0.02})
x = transformer.stack(x, "encoder.layer", o.num_hidden_layers, block)
x = scope("layernorm", nn.layer_norm, x, norm)
if not o.pooler then return {last_hidden_state = x} end

local first = x:slice({0, 0, 0}, {B, 1, C}):reshape{B, C}
local size = o.pooler_output_size > 0 and o.pooler_output_size or C
local pooled = huggingface.activation(o.pooler_act)(scope("pooler.dense", nn.linear, first, size))
return {last_hidden_state = x, pooler_output = pooled}
